module github.com/tickgate/tickgate/proof

go 1.25.0

require github.com/tickgate/tickgate v0.0.0

replace github.com/tickgate/tickgate => ../
