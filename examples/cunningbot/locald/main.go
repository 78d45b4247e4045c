// Command locald answers as Discord (/discord), OpenAI (/openai) and a news site (/news) do, on one
// port, and prints what was posted: for trying the bot without any of them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/keywright/keywright/examples/cunningbot/local"
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
		news.Publish("demo", local.NewsItem{Title: title, URL: fmt.Sprintf("https://news.example/%d", i+1), Text: "More of it inside.", At: time.Now()})
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
	l, err := net.Listen("tcp", *at)
	if err != nil {
		return err
	}
	fmt.Println("listening on", l.Addr())
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	stopped := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stopped()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
