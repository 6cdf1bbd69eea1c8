package check

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// rendered are the objects of a folder as kustomize renders them.
func rendered(t *testing.T, folder string) []runtime.Object {
	t.Helper()
	all, err := render(folder)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// render renders a folder by kustomize and reads the objects strictly by the types of
// Kubernetes: a key that they do not have is a fault.
func render(folder string) (all []runtime.Object, err error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{core.AddToScheme, apps.AddToScheme, policy.AddToScheme, networking.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		return nil, err
	}
	for _, r := range made.Resources() {
		text, err := r.AsYAML()
		if err != nil {
			return nil, err
		}
		o, _, err := decoder.Decode(text, nil, nil)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.CurId(), err)
		}
		all = append(all, o)
	}
	return all, nil
}

func of[T runtime.Object](all []runtime.Object) (out []T) {
	for _, o := range all {
		if is, ok := o.(T); ok {
			out = append(out, is)
		}
	}
	return out
}

// The manifests are valid, and fit each other.
func TestManifestsOfKubernetes(t *testing.T) {
	all := rendered(t, root+"deploy/kubernetes")
	deployments, settings := of[*apps.Deployment](all), of[*core.ConfigMap](all)
	if len(deployments) != 2 || len(settings) != 1 || settings[0].Data["bezoar.yaml"] == "" {
		t.Fatalf("there are %d deployments and %d settings", len(deployments), len(settings))
	}
	pods := map[string]core.PodTemplateSpec{}
	for _, d := range deployments {
		pods[d.Name] = d.Spec.Template
		if !selects(t, d.Spec.Selector, d.Spec.Template.Labels) {
			t.Errorf("deployment %s does not select its pods", d.Name)
		}
		checkPod(t, d.Name, &d.Spec.Template.Spec, settings[0].Name)
	}
	for _, s := range of[*core.Service](all) {
		checkService(t, s, pods["bezoar"])
	}
	budgets, policies := of[*policy.PodDisruptionBudget](all), of[*networking.NetworkPolicy](all)
	if len(budgets) != len(deployments) || len(policies) != len(deployments) {
		t.Errorf("%d budgets and %d policies for %d deployments", len(budgets), len(policies), len(deployments))
	}
	for _, b := range budgets {
		if !selects(t, b.Spec.Selector, pods[b.Name].Labels) {
			t.Errorf("the disruption budget %s does not select its pods", b.Name)
		}
	}
	for _, p := range policies {
		if !selects(t, &p.Spec.PodSelector, pods[p.Name].Labels) {
			t.Errorf("the network policy %s does not select its pods", p.Name)
		}
		for _, rule := range p.Spec.Ingress {
			for _, port := range rule.Ports {
				if !hasPort(pods[p.Name], *port.Port) {
					t.Errorf("the network policy %s has no port %v", p.Name, port.Port)
				}
			}
		}
	}
}

func selects(t *testing.T, by *v1.LabelSelector, these map[string]string) bool {
	t.Helper()
	s, err := v1.LabelSelectorAsSelector(by)
	if err != nil {
		t.Fatal(err)
	}
	return !s.Empty() && s.Matches(labels.Set(these))
}

func hasPort(pod core.PodTemplateSpec, port intstr.IntOrString) bool {
	return slices.ContainsFunc(pod.Spec.Containers, func(c core.Container) bool {
		return slices.ContainsFunc(c.Ports, func(p core.ContainerPort) bool {
			return p.Name == port.String() || p.ContainerPort == port.IntVal
		})
	})
}

func checkService(t *testing.T, s *core.Service, pod core.PodTemplateSpec) {
	t.Helper()
	if !labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(pod.Labels)) {
		t.Errorf("the service %s does not select the gateway", s.Name)
	}
	for _, p := range s.Spec.Ports {
		if !hasPort(pod, p.TargetPort) {
			t.Errorf("the service %s has a port %s that leads nowhere", s.Name, p.Name)
		}
	}
}

func checkPod(t *testing.T, name string, pod *core.PodSpec, settings string) {
	t.Helper()
	volumes := map[string]bool{}
	for _, v := range pod.Volumes {
		volumes[v.Name] = true
		if v.ConfigMap != nil && v.ConfigMap.Name != settings {
			t.Errorf("%s mounts the settings %s, which are called %s", name, v.ConfigMap.Name, settings)
		}
	}
	if pod.SecurityContext == nil || pod.SecurityContext.RunAsNonRoot == nil || !*pod.SecurityContext.RunAsNonRoot {
		t.Errorf("%s may run as root", name)
	}
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		for _, m := range c.VolumeMounts {
			if !volumes[m.Name] {
				t.Errorf("%s mounts %s, which is not there", name, m.Name)
			}
		}
		if s := c.SecurityContext; s == nil || !*s.ReadOnlyRootFilesystem || *s.AllowPrivilegeEscalation {
			t.Errorf("container %s of %s may write or escalate", c.Name, name)
		}
		for _, p := range []*core.Probe{c.LivenessProbe, c.ReadinessProbe} {
			if p != nil && !hasPort(core.PodTemplateSpec{Spec: *pod}, p.HTTPGet.Port) {
				t.Errorf("container %s of %s has no port %v to probe", c.Name, name, p.HTTPGet.Port)
			}
		}
		if strings.Contains(c.Image, "example") && !strings.Contains(c.Image, ":") {
			t.Errorf("container %s of %s has an image without a version: %s", c.Name, name, c.Image)
		}
	}
	if pod.TerminationGracePeriodSeconds == nil || *pod.TerminationGracePeriodSeconds < 50 {
		t.Errorf("%s is killed before it has drained", name)
	}
}

var (
	overlay = regexp.MustCompile("(?s)```yaml\n(# kustomization.yaml\n.*?)```")
	literal = regexp.MustCompile(`--from-literal=([a-z-]+)=`)
)

// The overlay of the guide changes images and settings, and the secret of the guide
// has all keys that the manifests ask for.
func TestTheGuideToKubernetes(t *testing.T) {
	guide := string(file(t, "docs/deploy.md"))
	block := overlay.FindStringSubmatch(guide)
	if block == nil {
		t.Fatal("docs/deploy.md has no overlay")
	}
	base, err := filepath.EvalSymlinks(root + "deploy/kubernetes")
	if err != nil {
		t.Fatal(err)
	}
	if base, err = filepath.Abs(base); err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if base, err = filepath.Rel(dir, base); err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(block[1], "https://github.com/bezoar-dev/bezoar//deploy/kubernetes", base, 1)
	for name, text := range map[string]string{"kustomization.yaml": text, "bezoar.yaml": "queues: {mine: {}}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all := rendered(t, dir)
	if settings := of[*core.ConfigMap](all); len(settings) != 1 || settings[0].Data["bezoar.yaml"] != "queues: {mine: {}}\n" {
		t.Errorf("the settings are %v", settings)
	}
	var keys []string
	for _, m := range literal.FindAllStringSubmatch(guide, -1) {
		keys = append(keys, m[1])
	}
	for _, d := range of[*apps.Deployment](all) {
		pod := d.Spec.Template.Spec
		for _, c := range pod.Containers {
			if d.Namespace != "shop" || !strings.HasPrefix(c.Image, "registry.shop.example/") {
				t.Errorf("%s in %q has the image %s", d.Name, d.Namespace, c.Image)
			}
			for _, e := range c.Env {
				if from := e.ValueFrom; from != nil && !slices.Contains(keys, from.SecretKeyRef.Key) {
					t.Errorf("the secret of the guide has no %s", from.SecretKeyRef.Key)
				}
			}
		}
		for _, v := range pod.Volumes {
			if v.Secret != nil && !slices.Contains(keys, v.Secret.Items[0].Key) {
				t.Errorf("the secret of the guide has no %s", v.Secret.Items[0].Key)
			}
		}
	}
}
