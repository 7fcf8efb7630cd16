// node collect.mjs DASHBOARD PROMETHEUS MINUTES OUT: asks Prometheus what the panels ask, as Grafana does for the last minutes, and writes
// dashboard and answers to a script.
import { readFileSync, writeFileSync } from 'node:fs';

const [file, prometheus, minutes, out] = process.argv.slice(2);
const dashboard = JSON.parse(readFileSync(file, 'utf8'));
const to = Math.floor(Date.now() / 1000);
const from = to - minutes * 60;
const scrape = 5; // seconds between two scrapes, as the recipe in docs/alerts.md has it
const columns = 24;
const width = 1600;

async function ask(path, parameters) {
  const response = await fetch(`${prometheus}/api/v1/${path}?${new URLSearchParams(parameters)}`);
  const answer = await response.json();
  if (answer.status !== 'success') throw new Error(`${parameters.query}: ${answer.error}`);
  return answer.data.result ?? [];
}

const empty = [];
for (const panel of dashboard.panels) {
  // One value every 5 seconds or more, and not more than the panel has pixels.
  const step = Math.max(scrape, Math.ceil((to - from) / (panel.gridPos.w * width / columns) / 5) * 5);
  for (const target of panel.targets ?? []) {
    const variables = { $__rate_interval: `${Math.max(step + scrape, 4 * scrape)}s`, $__range_s: to - from, $__range: `${to - from}s`, $namespace: '.*' };
    const query = Object.entries(variables).reduce((text, [name, value]) => text.replaceAll(name, value), target.expr);
    target.step = step;
    target.result = target.instant
      ? await ask('query', { query, time: to })
      : await ask('query_range', { query, start: Math.floor(from / step) * step, end: to, step });
    if (target.result.length === 0) empty.push(panel.title);
  }
}
writeFileSync(out, `window.picture = ${JSON.stringify({ dashboard, from, to })};\n`);
console.log(`Nothing to show for: ${[...new Set(empty)].join(', ') || 'no panel'}`);
