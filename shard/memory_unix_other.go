//go:build unix && !linux && !purego

package shard

const noReserve = 0

func adviseHuge([]byte) bool { return false }

func installed() uint64 { return 0 }
