package main

//go:generate go run ./internal/ruledoc ../../docs/rules.md
//go:generate go run ./internal/clidoc ../../docs/cli.md
//go:generate go run ./internal/jsondoc ../.. internal/command/schemas
//go:generate go run ./internal/apidoc ../.. internal/serve/openapi.json
