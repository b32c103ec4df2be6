# Builds on the machine's own architecture and compiles for the wanted one.
FROM --platform=$BUILDPLATFORM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
ARG VERSION=dev
ARG TARGETOS
ARG TARGETARCH
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=$VERSION" -o /out/sperrd ./cmd/sperrd

# No shell, no libc, no package manager: the binary brings time zones, migrations and
# policies; the certificates are for https to makod, the ERP, the OIDC provider and
# PostgreSQL.
FROM scratch
ARG VERSION=dev
ARG REVISION=unknown
LABEL org.opencontainers.image.title="sperrd" \
      org.opencontainers.image.description="Work queue of a Netzbetreiber for Sperrungen and Entsperrungen" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/sperrd /sperrd
# A number: an orchestrator that demands a non-root user cannot look up a name.
USER 65532:65532
EXPOSE 8780
STOPSIGNAL SIGTERM
# Nothing is written at run time: a read-only root works. The configuration is mounted at /sperrd.toml, or named by SPERRD_CONFIG.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD ["/sperrd", "health"]
ENTRYPOINT ["/sperrd"]
