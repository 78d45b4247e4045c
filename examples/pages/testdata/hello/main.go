//doc:begin program

// Command hello sets the page of a product and reads it again.
package main

import (
	"context"
	"fmt"
	"os"

	"hello/appkeys"

	"github.com/keywright/keywright"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: hello redis://HOST:PORT")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, url string) error {
	client, err := keywright.Open(ctx, url, keywright.Options{})
	if err != nil {
		return err
	}
	defer client.Close()
	app := appkeys.New(client)

	page := appkeys.ProductDetailValue{Name: "kettle", Price: 3900}
	if err := app.ProductDetail(42).Set(ctx, page); err != nil { // with its TTL, 30 minutes
		return err
	}
	page, err = app.ProductDetail(42).Get(ctx)
	if err != nil {
		return err
	}
	fmt.Println(page.Name, "costs", page.Price)
	fmt.Println("a negative id:", app.ProductDetail(-1).Set(ctx, page))
	return nil
}

//doc:end
