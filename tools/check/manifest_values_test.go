package check

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
)

// faults are values that the types of Kubernetes allow and its API server refuses.
func faults(all []runtime.Object) (out []string) {
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	names := map[string]bool{}
	for _, d := range of[*apps.Deployment](all) {
		for _, wrong := range validation.IsDNS1123Subdomain(d.Name) {
			say("deployment %q: %s", d.Name, wrong)
		}
		if names[d.Name] {
			say("two deployments are called %s", d.Name)
		}
		names[d.Name] = true
		if d.Spec.Replicas != nil && *d.Spec.Replicas < 1 {
			say("%s has %d replicas", d.Name, *d.Spec.Replicas)
		}
		pod := &d.Spec.Template.Spec
		if p := pod.RestartPolicy; p != "" && p != core.RestartPolicyAlways {
			say("%s: a deployment's pods are restarted always, not %s", d.Name, p)
		}
		for _, c := range append(append([]core.Container{}, pod.InitContainers...), pod.Containers...) {
			out = append(out, faultsOf(d.Name, &c)...)
		}
	}
	return out
}

func faultsOf(pod string, c *core.Container) (out []string) {
	say := func(format string, args ...any) {
		out = append(out, fmt.Sprintf("%s/%s: ", pod, c.Name)+fmt.Sprintf(format, args...))
	}
	for _, wrong := range validation.IsDNS1123Label(c.Name) {
		say("%s", wrong)
	}
	if strings.TrimSpace(c.Image) == "" {
		say("no image")
	}
	for _, p := range c.Ports {
		for _, wrong := range append(validation.IsValidPortName(p.Name), validation.IsValidPortNum(int(p.ContainerPort))...) {
			say("port %s %d: %s", p.Name, p.ContainerPort, wrong)
		}
	}
	for _, e := range c.Env {
		if wrong := validation.IsEnvVarName(e.Name); len(wrong) > 0 {
			say("variable %q: %s", e.Name, wrong[0])
		}
		if e.Value != "" && e.ValueFrom != nil {
			say("variable %s has two values", e.Name)
		}
	}
	for what, most := range c.Resources.Limits {
		if least, ok := c.Resources.Requests[what]; ok && least.Cmp(most) > 0 {
			say("it requests more %s than its limit", what)
		}
	}
	for _, m := range c.VolumeMounts {
		if !filepath.IsAbs(m.MountPath) {
			say("mount path %q is not absolute", m.MountPath)
		}
	}
	for _, p := range []*core.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		if p == nil {
			continue
		}
		if p.PeriodSeconds < 0 || p.TimeoutSeconds < 0 || p.FailureThreshold < 0 || p.InitialDelaySeconds < 0 {
			say("a probe with a negative number")
		}
		if p.HTTPGet != nil && !strings.HasPrefix(p.HTTPGet.Path, "/") {
			say("a probe of path %q", p.HTTPGet.Path)
		}
	}
	return out
}

func TestValuesOfManifests(t *testing.T) {
	for _, fault := range faults(rendered(t, root+"deploy/kubernetes")) {
		t.Error(fault)
	}
}

// Each odd value in a manifest is found: by kustomize, by the types, or by faults.
func TestOddValuesOfManifestsAreFound(t *testing.T) {
	for file, changes := range map[string][][2]string{
		"gateway.yaml": {
			{"replicas: 2", "replicas: two"},
			{"replicas: 2", "replicas: 0"},
			{"replicas: 2", "replicaCount: 2"},
			{"image: bezoar\n", "image: \"\"\n"},
			{"{name: http, containerPort: 8080}", "{name: http, containerPort: 80800}"},
			{"{name: http, containerPort: 8080}", "{name: a-name-of-a-port, containerPort: 8080}"},
			{"memory: 128Mi", "memory: 1Gi"},
			{"memory: 128Mi", "memory: 128 megabytes"},
			{"periodSeconds: 10", "periodSeconds: -10"},
			{"path: /livez", "path: livez"},
			{"mountPath: /etc/bezoar", "mountPath: etc/bezoar"},
			{"- name: BEZOAR_STORE\n", "- name: BEZOAR STORE\n"},
			{"name: bezoar\n  labels", "name: Bezoar_1\n  labels"},
			{"runAsNonRoot: true", "runAsNonRoot: maybe"},
			{"{name: http, containerPort: 8080}", "{name: http}"},
			{"{name: http, port: 80, targetPort: http}", "{name: http, targetPort: http}"},
			{"{secretKeyRef: {name: bezoar, key: store}}", "{secretKeyRef: {name: bezoar}}"},
			{"{name: tmp, mountPath: /tmp}", "{name: tmp}"},
			{"topologyKey: kubernetes.io/hostname", "namespaces: [shop]"},
			{"{path: /livez, port: admin}", "{path: /livez}"},
			{"{key: fingerprints, path: fingerprints}", "{key: fingerprints}"},
		},
		"work.yaml":          {{"replicas: 2", "replicas: -2"}, {"- name: work\n", "- name: Work\n"}},
		"kustomization.yaml": {{"files: [bezoar.yaml]", "files: [nothing.yaml]"}, {"  - work.yaml", "  - nothing.yaml"}},
	} {
		for _, c := range changes {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if err := os.CopyFS(dir, os.DirFS(root+"deploy/kubernetes")); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, file)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(text), c[0]) {
				t.Errorf("%s has no %q", file, c[0])
				continue
			}
			if err := os.WriteFile(path, []byte(strings.Replace(string(text), c[0], c[1], 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			all, err := render(dir)
			wrong, schemaErr := schemaFaults(dir)
			if err == nil && schemaErr == nil && len(faults(all)) == 0 && len(wrong) == 0 {
				t.Errorf("%s with %q instead of %q is taken for valid", file, c[1], c[0])
			}
		}
	}
}
