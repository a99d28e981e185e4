//go:build unix && !linux && !purego

package shard

const noReserve = 0

func adviseHuge([]byte) bool { return false }
