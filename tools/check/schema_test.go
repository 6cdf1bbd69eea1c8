package check

import (
	"fmt"
	"slices"
	"testing"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// schemaFaults are what the OpenAPI schema of Kubernetes' API refuses in a folder of
// manifests: above all keys that are required and missing, which the types in Go allow.
func schemaFaults(folder string) (faults []string, err error) {
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		return nil, err
	}
	for _, r := range made.Resources() {
		text, err := r.AsYAML()
		if err != nil {
			return nil, err
		}
		node, err := yaml.Parse(string(text))
		if err != nil {
			return nil, err
		}
		schema := openapi.SchemaForResourceType(yaml.TypeMeta{APIVersion: r.GetApiVersion(), Kind: r.GetKind()})
		if schema == nil {
			return nil, fmt.Errorf("the schema has no %s %s", r.GetApiVersion(), r.GetKind())
		}
		faults = append(faults, against(schema, node, r.GetKind()+"/"+r.GetName())...)
	}
	return faults, nil
}

// against says where a node differs from a schema.
func against(schema *openapi.ResourceSchema, node *yaml.RNode, path string) (faults []string) {
	if schema == nil || schema.Schema == nil {
		return []string{path + ": the schema has no such key"}
	}
	kind, tag := schema.Schema.Type, node.YNode().Tag
	is := func(want string, tags ...string) {
		if kind.Contains(want) && !slices.Contains(tags, tag) {
			faults = append(faults, fmt.Sprintf("%s: %s, want %s", path, tag, want))
		}
	}
	switch node.YNode().Kind {
	case yaml.MappingNode:
		for _, key := range schema.Schema.Required {
			if node.Field(key).IsNilOrEmpty() {
				faults = append(faults, fmt.Sprintf("%s: no %s, which is required", path, key))
			}
		}
		err := node.VisitFields(func(f *yaml.MapNode) error {
			key := f.Key.YNode().Value
			faults = append(faults, against(schema.Field(key), f.Value, path+"."+key)...)
			return nil
		})
		if err != nil {
			return append(faults, err.Error())
		}
		if len(kind) > 0 {
			is(kind[0], "!!map")
		}
	case yaml.SequenceNode:
		if len(kind) > 0 {
			is(kind[0], "!!seq")
		}
		for i, item := range node.Content() {
			faults = append(faults, against(schema.Elements(), yaml.NewRNode(item), fmt.Sprintf("%s[%d]", path, i))...)
		}
	default:
		is("boolean", "!!bool")
		is("integer", "!!int")
		is("object", "!!null")
		is("array", "!!null")
		if schema.Schema.Format != "int-or-string" {
			is("string", "!!str")
		}
	}
	return faults
}

func TestManifestsFitTheSchema(t *testing.T) {
	faults, err := schemaFaults(root + "deploy/kubernetes")
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range faults {
		t.Error(fault)
	}
}
