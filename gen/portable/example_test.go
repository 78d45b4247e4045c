package portable_test

import (
	"fmt"

	"github.com/keywright/keywright/gen/portable"
)

// Names of a declaration become identifiers of other languages.
func Example() {
	fmt.Println(portable.Snake("productId"), portable.Camel("product_detail"), portable.Pascal("product_detail"))
	// Output: product_id productDetail ProductDetail
}
