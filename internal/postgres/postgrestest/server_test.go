package postgrestest

import (
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// stopAtEnd stops a server at the end of the test.
func stopAtEnd(t *testing.T, server *Server, err error) *Server {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// startLocal starts a private cluster, whatever other server may be named for
// the tests.
func startLocal(t *testing.T, opts Options) *Server {
	t.Helper()
	opts.Log = func(string) {}
	server, err := startCluster(t.Context(), opts)
	if err == nil {
		err = server.prepare(t.Context())
	}
	return stopAtEnd(t, server, err)
}

// hasBinaries reports whether there is a private cluster to test. On a machine
// with a container engine alone, all tests of the module run in a container.
func hasBinaries(t *testing.T) bool {
	t.Helper()
	user, err := unprivileged()
	if err == nil {
		_, err = findBinaries(t.Context(), user)
	}
	if err != nil {
		t.Log(err)
	}
	return err == nil
}

// sharedAdminURL is a server that exists already, for the tests of Options.URL.
func sharedAdminURL(t *testing.T) string {
	t.Helper()
	server, _ := migrated(t)
	return server.AdminURL()
}

func TestStartServer_on_a_given_server_makes_a_database_and_drops_all_it_made(t *testing.T) {
	t.Parallel()
	admin := sharedAdminURL(t)
	server, err := StartServer(t.Context(), Options{URL: admin})
	stopAtEnd(t, server, err)
	another, err := server.createNew(t.Context(), "template0")
	if err != nil {
		t.Fatal(err)
	}
	conn := connect(t, server.URL())
	if name := ask[string](t, conn, "SELECT current_database()"); !strings.HasPrefix(name, "sperrd_test_") {
		t.Errorf("database = %s, want one of the run's own", name)
	}
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	if !isGone(t, server.URL()) || !isGone(t, withDatabase(server.role, another)) {
		t.Error("a database of the run is still there")
	}
	connect(t, admin) // the server itself goes on
}

func TestStartServer_refuses_a_bad_URL_without_quoting_it(t *testing.T) {
	t.Parallel()
	for _, rawURL := range []string{
		"postgres://user:geheim@host:port/db", "host=localhost password=geheim",
		"postgres://user:geheim@127.0.0.1:1/db", "postgres://user:geheim@host/db?sslmode=often",
	} {
		_, err := StartServer(t.Context(), Options{URL: rawURL})
		if err == nil || strings.Contains(err.Error(), "geheim") {
			t.Errorf("StartServer(%s) = %v, want an error without the password", rawURL, err)
		}
	}
}

func TestStartServer_with_a_port_asks_for_a_password(t *testing.T) {
	t.Parallel()
	if !hasBinaries(t) {
		return
	}
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0") // finds a free port
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	server := startLocal(t, Options{Port: port, Fast: true})
	connect(t, server.URL())
	wrong, err := url.Parse(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	wrong.User = url.UserPassword(owner, "wrong")
	if _, err := pgx.Connect(t.Context(), wrong.String()); err == nil {
		t.Error("a wrong password is accepted")
	}
}

func TestStartServer_keeps_a_given_data_folder(t *testing.T) {
	t.Parallel()
	if !hasBinaries(t) {
		return
	}
	parent, err := os.MkdirTemp("/tmp", "sperrd-keep-") // t.TempDir is closed to the user the cluster runs as
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(parent) })
	if err := os.Chmod(parent, 0o755); err != nil {
		t.Fatal(err)
	}
	opts := Options{DataDir: filepath.Join(parent, "data"), Timezone: "Asia/Tokyo"}
	first := startLocal(t, opts)
	connection := connect(t, first.URL())
	if _, err := connection.Exec(t.Context(), "CREATE TABLE kept AS SELECT 42 AS n"); err != nil {
		t.Fatal(err)
	}
	if zone := ask[string](t, connection, "SHOW timezone"); zone != "Asia/Tokyo" {
		t.Errorf("timezone = %s", zone)
	}
	for _, safe := range []string{"fsync", "synchronous_commit", "full_page_writes"} {
		if value := ask[string](t, connection, "SHOW "+safe); value != "on" {
			t.Errorf("%s = %s, want on for data that is kept", safe, value)
		}
	}
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(socketFolder(t, first.AdminURL())); !os.IsNotExist(err) {
		t.Errorf("the folder of the socket is still there: %v", err)
	}
	second := startLocal(t, opts)
	if n := ask[int](t, connect(t, second.URL()), "SELECT n FROM kept"); n != 42 {
		t.Errorf("n = %d, want 42", n)
	}
}

func TestStartServer_says_why_a_cluster_does_not_start(t *testing.T) {
	if !hasBinaries(t) {
		return
	}
	t.Setenv("SPERRD_TEST_POSTGRES", "local")
	_, err := StartServer(t.Context(), Options{Timezone: "Mars/Olympus"})
	if err == nil || !strings.Contains(err.Error(), "Mars/Olympus") {
		t.Errorf("StartServer() = %v, want the words of PostgreSQL", err)
	}
}

func TestStartServer_without_any_names_the_three_ways(t *testing.T) {
	t.Setenv("SPERRD_TEST_POSTGRES", "local")
	t.Setenv("PATH", t.TempDir())
	folders := binaryFolders
	binaryFolders = nil
	t.Cleanup(func() { binaryFolders = folders })
	_, err := StartServer(t.Context(), Options{})
	if err == nil {
		t.Fatal("no error")
	}
	for _, way := range []string{"SPERRD_TEST_DATABASE_URL=postgres://", "initdb and postgres", "Docker"} {
		if !strings.Contains(err.Error(), way) {
			t.Errorf("%q lacks %q", err, way)
		}
	}
}

func TestStartServer_refuses_an_unknown_kind(t *testing.T) {
	t.Setenv("SPERRD_TEST_POSTGRES", "cloud")
	if _, err := StartServer(t.Context(), Options{}); err == nil || !strings.Contains(err.Error(), "local or docker") {
		t.Errorf("StartServer() = %v", err)
	}
}

// socketFolder is the folder of a private cluster.
func socketFolder(t *testing.T, rawURL string) string {
	t.Helper()
	parsed, err := url.Parse(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	return parsed.Query().Get("host")
}
