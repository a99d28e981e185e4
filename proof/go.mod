module github.com/tickgate/tickgate/proof

go 1.25.0

require (
	github.com/anishathalye/porcupine v1.3.1
	github.com/stretchr/testify v1.12.1
	github.com/tickgate/tickgate v0.0.0
	github.com/tickgate/tickgate/redisync v0.0.0
	golang.org/x/time v0.14.0
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/redis/rueidis v1.0.79 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sys v0.47.0 // indirect
)

replace (
	github.com/tickgate/tickgate => ../
	github.com/tickgate/tickgate/redisync => ../redisync
)
