module github.com/tickgate/tickgate/cmd/tickgate

go 1.25.0

replace github.com/tickgate/tickgate => ../../

require (
	github.com/alecthomas/kong v1.17.0
	github.com/stretchr/testify v1.12.1
	github.com/tickgate/tickgate v0.0.0
	go.yaml.in/yaml/v3 v3.0.5
	golang.org/x/term v0.42.0
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	golang.org/x/sys v0.43.0 // indirect
)
