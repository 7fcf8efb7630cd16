# The binaries are built outside, by make dist, so that an image has the very ones that are released:
#   make image
FROM gcr.io/distroless/static-debian12:nonroot
ARG TARGETOS
ARG TARGETARCH
COPY dist/sluice-${TARGETOS}-${TARGETARCH} /sluice
USER 65532:65532
ENTRYPOINT ["/sluice"]
