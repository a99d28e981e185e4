//go:build race

package tickgate_test

const raceEnabled = true
