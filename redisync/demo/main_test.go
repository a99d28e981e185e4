package main

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOptionsReportEveryFault(t *testing.T) {
	o := options{processes: 99, limit: "1/s rolling", credit: 0, mode: "strict", seconds: 1}
	require.EqualError(t, o.run(context.Background()), "-mode strict: must be credit or lease\n"+
		"-limit 1/s rolling: must be a token bucket, such as 1000/s burst=100\n"+
		"-credit 0: must be 1 to 1048576\n-processes 99: must be 1 to 16\n-seconds 1: must be 2 to 600")
}
