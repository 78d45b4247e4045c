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

	"github.com/keywright/keywright/cmd/keywright/internal/command"
	"github.com/keywright/keywright/cmd/keywright/internal/serve/auth"
	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"
)

const deploy = "../../docs/deploy"

func deployed(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(deploy, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// runs checks that a line of arguments names a command and flags that there are.
func runs(t *testing.T, where string, args []string) {
	t.Helper()
	c, rest, err := command.New().Find(args)
	if err != nil || c.Name() == "keywright" {
		t.Errorf("%s: there is no command %v: %v", where, args, err)
		return
	}
	c.SetOut(io.Discard)
	c.SetErr(io.Discard)
	c.RunE = func(*cobra.Command, []string) error { return nil }
	if err := c.ParseFlags(rest); err != nil {
		t.Errorf("%s: %v: %v", where, args, err)
		return
	}
	if err := c.ValidateArgs(c.Flags().Args()); err != nil {
		t.Errorf("%s: %v: %v", where, args, err)
	}
}

// documentsOf returns the documents of a YAML file.
func documentsOf(t *testing.T, name string) (out []map[string]any) {
	t.Helper()
	d := yaml.NewDecoder(bytes.NewReader([]byte(deployed(t, name))))
	for {
		var doc map[string]any
		err := d.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out = append(out, doc)
	}
}

// at returns what is at a path of mappings and lists: the first of a list.
func at(of any, path ...string) any {
	for _, p := range path {
		if l, ok := of.([]any); ok && len(l) > 0 {
			of = l[0]
		}
		m, _ := of.(map[string]any)
		of = m[p]
	}
	return of
}

func texts(of any) (out []string) {
	all, _ := of.([]any)
	for _, one := range all {
		s, _ := one.(string)
		out = append(out, s)
	}
	return out
}

// TestContainerfile: the container file of a release, of which cmd/release has a sample, starts what there is.
func TestContainerfile(t *testing.T) {
	t.Parallel()
	text := deployed(t, "../../cmd/release/testdata/Containerfile")
	for _, want := range []string{"FROM scratch", "USER 65532:65532", `ENTRYPOINT ["/keywright"]`,
		"EXPOSE 7380", "VOLUME /data"} {
		if !strings.Contains(text, want) {
			t.Errorf("it lacks %s", want)
		}
	}
	check := regexp.MustCompile(`HEALTHCHECK .*CMD \["/keywright", (.*)\]`).FindStringSubmatch(text)
	if check == nil {
		t.Fatal("it has no health check")
	}
	runs(t, "HEALTHCHECK", strings.Split(strings.ReplaceAll(check[1], `"`, ""), ", "))
	command := regexp.MustCompile(`(?m)^CMD \["(\w+)"\]$`).FindStringSubmatch(text)
	if command == nil {
		t.Fatal("it has no command")
	}
	runs(t, "CMD", command[1:])
}

func TestCompose(t *testing.T) {
	t.Parallel()
	doc := documentsOf(t, "compose.yaml")[0]
	service := at(doc, "services", "keywright")
	runs(t, "compose.yaml", texts(at(service, "command")))
	if at(service, "image") != "keywright" || at(service, "pull_policy") != "never" || at(service, "build") != nil {
		t.Error("keywright is not of the image that docs/deploy/README.md builds")
	}
	if at(service, "read_only") != true || at(service, "user") != "65532:65532" ||
		!slices.Equal(texts(at(service, "cap_drop")), []string{"ALL"}) {
		t.Error("keywright is not hardened")
	}
	services, _ := at(doc, "services").(map[string]any)
	for name, one := range services {
		for _, port := range texts(at(one, "ports")) {
			if !strings.HasPrefix(port, "127.0.0.1:") {
				t.Errorf("%s is open to other machines: %s", name, port)
			}
		}
		for part, known := range map[string]any{"secrets": at(doc, "secrets"), "networks": at(doc, "networks"),
			"volumes": at(doc, "volumes")} {
			for _, used := range texts(at(one, part)) {
				used, _, _ = strings.Cut(used, ":")
				all, _ := known.(map[string]any)
				if _, there := all[used]; !there && !strings.HasPrefix(used, ".") {
					t.Errorf("%s uses %s %q, which is not declared", name, part, used)
				}
			}
		}
	}
	scrape := at(documentsOf(t, "prometheus.yaml")[0], "scrape_configs")
	if got := texts(at(scrape, "static_configs", "targets")); !slices.Equal(got, []string{"keywright:7380"}) {
		t.Errorf("Prometheus asks %v", got)
	}
	if at(scrape, "authorization", "credentials_file") != "/run/secrets/prometheus_token" {
		t.Error("Prometheus has no token")
	}
}

func TestUnit(t *testing.T) {
	t.Parallel()
	set := map[string][]string{}
	section := ""
	for line := range strings.Lines(deployed(t, "keywright.service")) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if line[0] == '[' {
			section = strings.Trim(line, "[]")
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok || section == "" {
			t.Fatalf("%q is no setting", line)
		}
		set[name] = append(set[name], value)
	}
	start := strings.Fields(set["ExecStart"][0])
	if start[0] != "/usr/local/bin/keywright" {
		t.Error(start[0])
	}
	runs(t, "keywright.service", start[1:])
	for name, want := range map[string]string{"DynamicUser": "yes", "NoNewPrivileges": "yes", "ProtectSystem": "strict",
		"ProtectHome": "yes", "PrivateTmp": "yes",
		"PrivateDevices": "yes", "CapabilityBoundingSet": "", "MemoryDenyWriteExecute": "yes", "RestrictNamespaces": "yes",
		"SystemCallArchitectures": "native", "StateDirectory": "keywright"} {
		if len(set[name]) != 1 || set[name][0] != want {
			t.Errorf("%s is %v, not %q", name, set[name], want)
		}
	}
	for _, arg := range start {
		if _, path, ok := strings.Cut(arg, "=/var/lib/"); ok && !strings.HasPrefix(path, "keywright/") {
			t.Errorf("%s is not in the folder that the unit may write to", arg)
		}
	}
}

func TestKubernetes(t *testing.T) {
	t.Parallel()
	kinds := map[string]string{"ServiceAccount": "v1", "PersistentVolumeClaim": "v1", "Deployment": "apps/v1",
		"Service": "v1", "NetworkPolicy": "networking.k8s.io/v1", "CronJob": "batch/v1"}
	seen := map[string]bool{}
	for _, file := range []string{"kubernetes/keywright.yaml", "kubernetes/janitor.yaml"} {
		for _, doc := range documentsOf(t, file) {
			kind, _ := doc["kind"].(string)
			if seen[kind] = true; kinds[kind] == "" || doc["apiVersion"] != kinds[kind] || at(doc, "metadata", "name") == nil {
				t.Errorf("%s: %v of %v", file, kind, doc["apiVersion"])
			}
			pod := at(doc, "spec", "template", "spec")
			if kind == "CronJob" {
				pod = at(doc, "spec", "jobTemplate", "spec", "template", "spec")
			}
			if pod != nil {
				hardened(t, file+" "+kind, pod)
			}
			if kind == "Deployment" || kind == "Service" || kind == "NetworkPolicy" {
				selected(t, doc, kind)
			}
		}
	}
	if len(seen) != len(kinds) {
		t.Errorf("there are %v", seen)
	}
}

// hardened checks a pod: what it may do, what it runs, and that its volumes are there.
func hardened(t *testing.T, where string, pod any) {
	t.Helper()
	c := at(pod, "containers")
	runs(t, where, texts(at(c, "args")))
	for path, want := range map[string]any{"runAsNonRoot": true, "runAsUser": 65532} {
		if got := at(pod, "securityContext", path); got != want {
			t.Errorf("%s: %s is %v", where, path, got)
		}
	}
	if at(pod, "securityContext", "seccompProfile", "type") != "RuntimeDefault" ||
		at(pod, "automountServiceAccountToken") != false {
		t.Errorf("%s: no seccomp profile, or a token of the cluster", where)
	}
	own := at(c, "securityContext")
	if at(own, "readOnlyRootFilesystem") != true || at(own, "allowPrivilegeEscalation") != false ||
		!slices.Equal(texts(at(own, "capabilities", "drop")), []string{"ALL"}) ||
		at(c, "resources", "limits", "memory") == nil {
		t.Errorf("%s: the container is not hardened", where)
	}
	there := map[any]bool{}
	volumes, _ := at(pod, "volumes").([]any)
	for _, v := range volumes {
		there[at(v, "name")] = true
	}
	mounts, _ := at(c, "volumeMounts").([]any)
	for _, m := range mounts {
		if !there[at(m, "name")] {
			t.Errorf("%s: there is no volume %v", where, at(m, "name"))
		}
	}
	if len(mounts) == 0 || len(mounts) != len(volumes) {
		t.Errorf("%s: %d volumes, %d mounts", where, len(volumes), len(mounts))
	}
	for probe, path := range map[string]string{"livenessProbe": auth.HealthPath, "readinessProbe": auth.ReadyPath} {
		if p := at(c, probe); p != nil && at(p, "httpGet", "path") != path {
			t.Errorf("%s: %s asks %v", where, probe, at(p, "httpGet", "path"))
		}
	}
}

// selected checks that what selects pods selects those of the deployment.
func selected(t *testing.T, doc map[string]any, kind string) {
	t.Helper()
	path := map[string][]string{"Deployment": {"spec", "selector", "matchLabels"}, "Service": {"spec", "selector"},
		"NetworkPolicy": {"spec", "podSelector", "matchLabels"}}[kind]
	if got := at(at(doc, path...), "app.kubernetes.io/name"); got != "keywright" {
		t.Errorf("%s selects %v", kind, got)
	}
}
