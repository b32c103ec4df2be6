package postgrestest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/wait"
)

const (
	image         = "postgres:17-alpine"
	containerPort = "5432/tcp"
	// containerTimeout bounds the start of the container, not the pull of its image.
	containerTimeout = 2 * time.Minute
)

// startContainer starts PostgreSQL in a container. Testcontainers' own reaper
// removes it should this process die.
func startContainer(ctx context.Context, opts Options) (*Server, error) {
	opts.Log("starting PostgreSQL in a container from " + image)
	password := rand.Text()
	request := testcontainers.ContainerRequest{
		Image:        image,
		ExposedPorts: []string{containerPort},
		Env:          map[string]string{"POSTGRES_USER": superuser, "POSTGRES_PASSWORD": password, "TZ": "UTC"},
		Cmd:          append([]string{"postgres"}, containerSettings(opts)...),
		// The image starts the server once to set it up, and then for good.
		WaitingFor: wait.ForAll(
			wait.ForLog("database system is ready to accept connections").WithOccurrence(2),
			wait.ForListeningPort(containerPort),
		).WithDeadline(containerTimeout),
	}
	running, err := testcontainers.GenericContainer(ctx, testcontainers.GenericContainerRequest{
		ContainerRequest: request, Started: true, Logger: progress(opts.Log),
	})
	stop := func() error {
		if running == nil {
			return nil
		}
		return testcontainers.TerminateContainer(running)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("no container: %w", err), stop())
	}
	host, err := running.Host(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("find the container: %w", err), stop())
	}
	port, err := running.MappedPort(ctx, containerPort)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("find the container: %w", err), stop())
	}
	admin := &url.URL{
		Scheme: "postgres", User: url.UserPassword(superuser, password),
		Host: net.JoinHostPort(host, port.Port()), Path: "/postgres", RawQuery: "sslmode=disable",
	}
	role := *admin
	role.User = url.UserPassword(owner, password)
	return &Server{admin: admin, role: &role, halt: stop}, nil
}

// containerSettings are those of a private cluster, but for the address: a
// container listens to the network, which is its own.
func containerSettings(opts Options) []string {
	opts.Port = 0
	return append(settings(opts), "-c", "listen_addresses=*")
}

// progress hands testcontainers' log lines on.
type progress func(line string)

// Printf is the method that testcontainers calls.
func (p progress) Printf(format string, values ...any) { p(fmt.Sprintf(format, values...)) }
