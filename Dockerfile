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
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/sperrd /sperrd
# A number: an orchestrator that demands a non-root user cannot look up a name.
USER 65532:65532
EXPOSE 8780
# The configuration is mounted at /sperrd.toml, or named by SPERRD_CONFIG.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD ["/sperrd", "health"]
ENTRYPOINT ["/sperrd"]
