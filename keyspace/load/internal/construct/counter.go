package construct

import (
	"github.com/keywright/keywright/keyspace"
	"github.com/keywright/keywright/keyspace/scalar"
)

func (b *builder) counter() {
	b.addMain(&keyspace.Key{Value: &scalar.Type{Kind: scalar.Int}})
}
