// Command locald answers as Discord (/discord), OpenAI (/openai) and a news site (/news) do, on one
// port, and prints what was posted: for trying the bot without any of them.
package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/keywright/keywright/examples/cunningbot/local"
	"github.com/keywright/keywright/examples/internal/program"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "locald:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	at := flag.String("http", "127.0.0.1:8089", "address to listen on")
	flag.Parse()
	discord, model, news := &local.Discord{Token: "local"}, &local.Model{Key: "local"}, &local.News{}
	for i, title := range []string{"The harbour is open again", "A hurricane comes: urgent", "A hurricane is remembered"} {
		at := fmt.Sprintf("https://news.example/%d", i+1)
		news.Publish("demo", local.NewsItem{Title: title, URL: at, Text: "More of it inside.", At: time.Now()})
	}
	mux := http.NewServeMux()
	mux.Handle("/discord/", http.StripPrefix("/discord", discord))
	mux.Handle("/openai/", http.StripPrefix("/openai", model))
	mux.Handle("/news/", http.StripPrefix("/news", news))
	mux.HandleFunc("GET /posted", func(w http.ResponseWriter, _ *http.Request) {
		for _, m := range discord.Messages() {
			fmt.Fprintf(w, "%s %s\n%s\n\n", m.Channel, m.Title, m.Text)
		}
	})
	return program.Listen(ctx, *at, mux, 5*time.Second)
}
