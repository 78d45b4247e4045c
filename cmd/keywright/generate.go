package main

//go:generate go run ./internal/ruledoc ../../docs/rules.md
