# The binaries are built outside, by make dist, so that an image has the very ones that are released:
#   make image
# The base is named by tag: a digest that nobody renews is a base without security fixes, and nothing here renews it.
# What went into an image is in its provenance and its list of materials, which a release signs. To pin it:
#   docker buildx build --build-arg BASE=gcr.io/distroless/static-debian12@sha256:...
ARG BASE=gcr.io/distroless/static-debian12:nonroot
FROM ${BASE}
ARG TARGETOS
ARG TARGETARCH
COPY dist/sluice-${TARGETOS}-${TARGETARCH} /sluice
USER 65532:65532
ENTRYPOINT ["/sluice"]
