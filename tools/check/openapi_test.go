package check

import (
	"testing"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
)

// The description of the admin API is a document of OpenAPI 3.1, without
// references that lead nowhere.
func TestTheDescriptionOfTheAPIIsValid(t *testing.T) {
	doc, err := libopenapi.NewDocument(file(t, "internal/control/apidoc/openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	model, err := doc.BuildV3Model()
	if err != nil {
		t.Fatal(err)
	}
	if n := model.Model.Paths.PathItems.Len(); n < 40 {
		t.Errorf("it describes %d paths", n)
	}
	v, errs := validator.NewValidator(doc)
	for _, err := range errs {
		t.Fatal(err)
	}
	if ok, faults := v.ValidateDocument(); !ok {
		for _, f := range faults {
			t.Errorf("%s: %s", f.Message, f.Reason)
			for _, e := range f.SchemaValidationErrors {
				t.Errorf("  %s: %s", e.FieldPath, e.Reason)
			}
		}
	}
	ids := map[string]bool{}
	for path, item := range model.Model.Paths.PathItems.FromOldest() {
		for method, o := range item.GetOperations().FromOldest() {
			if ids[o.OperationId] {
				t.Errorf("%s %s: there are two operations called %s", method, path, o.OperationId)
			}
			ids[o.OperationId] = true
		}
	}
}
