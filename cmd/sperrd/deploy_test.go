package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"sperrd/internal/config"
)

func deployFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../docs/deploy", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// wantLoadable loads a configuration whose secrets are files, which it must name and never
// hold. secrets are those that the deployment mounts.
func wantLoadable(t *testing.T, where, toml string, secrets []string) *config.Config {
	t.Helper()
	dir := t.TempDir()
	files := regexp.MustCompile(`"file:([^"]+)"`)
	for _, found := range files.FindAllStringSubmatch(toml, -1) {
		name := filepath.Base(found[1])
		if !slices.Contains(secrets, name) {
			t.Errorf("%s: nobody mounts %s", where, name)
		}
		value := "0123456789abcdef0123456789abcdef" + name
		if name == "database_url" {
			value = "postgres://sperrd:x@postgres:5432/sperrd"
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(value), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path := writeConfig(t, files.ReplaceAllStringFunc(toml, func(ref string) string {
		return `"file:` + dir + "/" + filepath.Base(strings.Trim(ref, `"`)) + `"`
	}))
	for _, key := range []string{"makod_api_key", "inbound_hmac_secret", "erp_hmac_secret", "url"} {
		if !regexp.MustCompile(`(?m)^\s*` + key + `\s*=\s*"file:`).MatchString(toml) {
			t.Errorf("%s: %s is no file", where, key)
		}
	}
	c, err := config.Load(path, func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	return c
}

func TestCompose_serves_what_the_image_and_the_service_have(t *testing.T) {
	t.Parallel()
	var compose struct {
		Services map[string]struct {
			User            string
			Ports           []string
			ReadOnly        bool     `yaml:"read_only"`
			CapDrop         []string `yaml:"cap_drop"`
			Secrets         []string
			StopGracePeriod string `yaml:"stop_grace_period"`
			Healthcheck     struct{ Test []string }
		}
		Configs map[string]struct{ Content string }
		Secrets map[string]struct{ File string }
	}
	if err := yaml.Unmarshal([]byte(deployFile(t, "compose.yaml")), &compose); err != nil {
		t.Fatal(err)
	}
	s := compose.Services["sperrd"]
	c := wantLoadable(t, "compose.yaml", compose.Configs["sperrd"].Content, s.Secrets)
	for _, secret := range s.Secrets {
		if compose.Secrets[secret].File == "" {
			t.Errorf("secret %s is no file", secret)
		}
	}
	grace, err := time.ParseDuration(s.StopGracePeriod)
	if err != nil || grace < c.ShutdownGrace+10*time.Second {
		t.Errorf("stop_grace_period %v for a shutdown_grace of %v, %v", grace, c.ShutdownGrace, err)
	}
	if s.User != "65532:65532" || !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) || !slices.Equal(s.Healthcheck.Test, []string{"CMD", "/sperrd", "health"}) ||
		len(s.Ports) != 1 || !strings.HasSuffix(s.Ports[0], ":8780") || c.Port != 8780 {
		t.Errorf("service %+v", s)
	}
}

// manifest is what of a Kubernetes object matters here.
type manifest struct {
	Kind string
	Data map[string]string
	Spec struct {
		Replicas     int
		MinAvailable int `yaml:"minAvailable"`
		Ports        []struct{ Port int }
		Template     struct {
			Spec struct {
				TerminationGracePeriodSeconds int `yaml:"terminationGracePeriodSeconds"`
				SecurityContext               struct {
					RunAsUser    int  `yaml:"runAsUser"`
					RunAsNonRoot bool `yaml:"runAsNonRoot"`
				} `yaml:"securityContext"`
				Containers []container
			}
		}
	}
}

type container struct {
	Args  []string
	Ports []struct {
		ContainerPort int `yaml:"containerPort"`
	}
	StartupProbe    probe `yaml:"startupProbe"`
	LivenessProbe   probe `yaml:"livenessProbe"`
	ReadinessProbe  probe `yaml:"readinessProbe"`
	SecurityContext struct {
		ReadOnlyRootFilesystem bool `yaml:"readOnlyRootFilesystem"`
		Capabilities           struct{ Drop []string }
	} `yaml:"securityContext"`
}

type probe struct {
	HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
}

func TestKubernetes_serves_what_the_image_and_the_service_have(t *testing.T) {
	t.Parallel()
	byKind := map[string]manifest{}
	for decoder := yaml.NewDecoder(bytes.NewReader([]byte(deployFile(t, "kubernetes.yaml")))); ; {
		var m manifest
		err := decoder.Decode(&m)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		byKind[m.Kind] = m
	}
	c := wantLoadable(t, "kubernetes.yaml", byKind["ConfigMap"].Data["sperrd.toml"],
		[]string{"database_url", "makod_api_key", "inbound_hmac_secret", "erp_hmac_secret"})
	deployment := byKind["Deployment"].Spec
	pod := deployment.Template.Spec
	if deployment.Replicas <= byKind["PodDisruptionBudget"].Spec.MinAvailable || byKind["PodDisruptionBudget"].Spec.MinAvailable < 1 {
		t.Errorf("%d replicas, of which %d must stay", deployment.Replicas, byKind["PodDisruptionBudget"].Spec.MinAvailable)
	}
	if grace := time.Duration(pod.TerminationGracePeriodSeconds) * time.Second; grace < c.ShutdownGrace+10*time.Second {
		t.Errorf("killed after %v, with a shutdown_grace of %v", grace, c.ShutdownGrace)
	}
	if pod.SecurityContext.RunAsUser != 65532 || !pod.SecurityContext.RunAsNonRoot || len(pod.Containers) != 1 {
		t.Fatalf("pod %+v", pod)
	}
	one := pod.Containers[0]
	if one.LivenessProbe.HTTPGet.Path != "/health/live" || one.StartupProbe.HTTPGet.Path != "/health/live" || one.ReadinessProbe.HTTPGet.Path != "/health/ready" {
		t.Errorf("probes %+v", one)
	}
	if one.Ports[0].ContainerPort != c.Port || byKind["Service"].Spec.Ports[0].Port != c.Port {
		t.Errorf("ports %+v", one.Ports)
	}
	if !one.SecurityContext.ReadOnlyRootFilesystem || !slices.Equal(one.SecurityContext.Capabilities.Drop, []string{"ALL"}) {
		t.Errorf("container %+v", one.SecurityContext)
	}
	if !slices.Equal(one.Args, []string{"serve", "--config", "/etc/sperrd/sperrd.toml"}) || byKind["NetworkPolicy"].Kind == "" {
		t.Errorf("args %q", one.Args)
	}
}

func TestUnit_starts_and_stops_the_service_as_it_is(t *testing.T) {
	t.Parallel()
	unit := deployFile(t, "sperrd.service")
	for _, line := range []string{
		"ExecStart=/usr/local/bin/sperrd serve --config /etc/sperrd/sperrd.toml", "RestartPreventExitStatus=2", "TimeoutStopSec=35",
		"DynamicUser=yes", "ProtectSystem=strict", "NoNewPrivileges=yes", "LoadCredential=database_url:/etc/sperrd/secrets/database_url",
	} {
		if !strings.Contains(unit, "\n"+line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
	if code, stdout, _ := command(t, "", "serve", "--help"); code != exitOK || !strings.Contains(stdout, "--config") {
		t.Errorf("serve --help: exit code %d\n%s", code, stdout)
	}
}

func TestDockerfile_fits_the_service(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	file := string(text)
	stages := regexp.MustCompile(`(?m)^FROM .*$`).FindAllString(file, -1)
	if len(stages) != 2 || stages[1] != "FROM scratch" {
		t.Errorf("stages %q", stages)
	}
	gomod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(gomod)
	if !strings.Contains(stages[0], "golang:"+string(version[1])+"-") {
		t.Errorf("%s builds go %s", stages[0], version[1])
	}
	for _, line := range []string{
		"USER 65532:65532", "EXPOSE 8780", "STOPSIGNAL SIGTERM", `ENTRYPOINT ["/sperrd"]`,
		`HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD ["/sperrd", "health"]`, "    CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \\",
	} {
		if !strings.Contains(file, "\n"+line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
	if strings.Contains(file, "SECRET") || strings.Contains(file, "_KEY=") {
		t.Error("a secret may be in a layer")
	}
}
