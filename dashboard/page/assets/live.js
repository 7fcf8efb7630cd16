// Keeps a page up to date: when the server says that something has changed, the script loads the page again and replaces
// what differs. Without this script, pages reload every 15 seconds.
"use strict";
(() => {
  const topic = document.body.dataset.live;
  const told = document.querySelector("[data-live-state]");
  let stream, reading = false, again = false;

  const say = (text) => { if (told && told.textContent !== text) told.textContent = text; };

  // Keep what people have opened or are typing.
  const keep = {
    ignoreActiveValue: true,
    callbacks: {
      beforeAttributeUpdated: (name, node) => !(name === "open" && node.tagName === "DETAILS"),
      beforeNodeMorphed: (old) => !(old instanceof Element && old.matches("[data-filter]") && old.contains(document.activeElement)),
    },
  };

  const read = async () => {
    if (reading) { again = true; return; }
    reading = true;
    try {
      const answer = await fetch(location.href, { credentials: "same-origin", redirect: "manual", headers: { "Sluice-Live": "1" } });
      // A viewer whose session has ended is sent to the login page; a page of its own says that something is gone or hidden.
      if (answer.type === "opaqueredirect" || [401, 403, 404].includes(answer.status)) { location.reload(); return; }
      if (!answer.ok) throw new Error(String(answer.status));
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      const main = fresh.querySelector("main");
      if (main) Idiomorph.morph(document.querySelector("main"), main, keep);
      document.title = fresh.title || document.title;
      say("on");
    } catch (error) {
      say("interrupted, trying again");
      setTimeout(read, 3000);
    } finally {
      reading = false;
      if (again) { again = false; read(); }
    }
  };

  const open = () => {
    if (stream || document.hidden) return;
    stream = new EventSource("/live?" + topic);
    stream.addEventListener("changed", read);
    // Nothing has announced changes since the page was rendered, or while the stream was down.
    stream.onopen = () => { say("on"); read(); };
    stream.onerror = () => {
      say("interrupted, trying again");
      if (stream.readyState === EventSource.CLOSED) { close(); setTimeout(open, 3000); }
    };
  };
  const close = () => { if (stream) stream.close(); stream = undefined; };

  // A hidden page closes its stream: browsers allow few connections to a server.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) close(); else open();
  });
  window.addEventListener("pagehide", close);

  // The format of k8s.io/apimachinery/pkg/util/duration.
  const human = (s) => {
    if (s < 120) return Math.floor(s) + "s";
    const m = Math.floor(s / 60);
    if (m < 10) return m + "m" + (Math.floor(s) % 60 ? Math.floor(s) % 60 + "s" : "");
    if (m < 180) return m + "m";
    const h = Math.floor(m / 60);
    if (h < 8) return h + "h" + (m % 60 ? m % 60 + "m" : "");
    if (h < 48) return h + "h";
    const d = Math.floor(h / 24);
    if (h < 192) return d + "d" + (h % 24 ? h % 24 + "h" : "");
    if (d < 730) return d + "d";
    return Math.floor(d / 365) + "y";
  };
  const ahead = Date.now() - Date.parse(document.body.dataset.now || "");
  setInterval(() => {
    for (const time of document.querySelectorAll("time[data-ago]")) {
      const text = human(Math.max(0, (Date.now() - (ahead || 0) - Date.parse(time.dateTime)) / 1000));
      if (time.textContent !== text) time.textContent = text;
    }
  }, 5000);

  open();
})();
