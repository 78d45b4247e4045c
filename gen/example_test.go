package gen_test

import (
	"fmt"
	"testing/fstest"

	"github.com/keywright/keywright/gen"
)

// A generated file is compared with the one in a folder.
func Example() {
	folder := fstest.MapFS{"keys.go": {Data: []byte("// " + gen.Marker + "\n\npackage keys\n")}}
	fmt.Println(gen.Check(folder, gen.File{Name: "keys.go", Text: folder["keys.go"].Data}) == gen.Fresh)
	fmt.Println(gen.Check(folder, gen.File{Name: "keys.go", Text: []byte("package keys\n")}) == gen.Fresh)
	fmt.Println(gen.Words("product_detail"), gen.Camel(gen.Words("productId"), gen.Title))
	// Output:
	// true
	// false
	// [product detail] ProductId
}
