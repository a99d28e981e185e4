package grpclimit_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tickgate/tickgate"
	"github.com/tickgate/tickgate/adapter/grpclimit"
	"github.com/tickgate/tickgate/clock"
)

func TestConfigReportsAllFaults(t *testing.T) {
	bad := grpclimit.Config{Messages: 4, Domain: "\xff", Wait: true}
	_, err := grpclimit.NewServer(bad)
	for _, field := range []string{"Gate", "Key", "Messages", "Domain", "Wait"} {
		require.ErrorContains(t, err, field+" = ")
	}
	var fault *tickgate.ConfigError
	require.ErrorAs(t, err, &fault)

	_, err = grpclimit.NewClient(bad)
	require.ErrorContains(t, err, "Gate = ")
	require.NotContains(t, err.Error(), "Wait = ", "clients may wait")

	good := grpclimit.Config{Gate: gateOf(t, clock.NewManual(0), "1/s"), Key: grpclimit.FixedKey("a")}
	_, err = grpclimit.NewServer(good)
	require.NoError(t, err)
	_, err = grpclimit.NewClient(good)
	require.NoError(t, err)
}
