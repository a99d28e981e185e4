package bucket

import "testing"

// FuzzWindow plays operations, decoded from the input, on a limit that counts in
// windows, aligned or from the first event, and on the exact model.
func FuzzWindow(f *testing.F) {
	seedWindows(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		tape := &tape{b[:min(len(b), 1000)]}
		runWindow(t, []Kind{Aligned, FromFirst}[tape.below(2)], tape)
	})
}

// FuzzRolling is FuzzWindow for a rolling limit.
func FuzzRolling(f *testing.F) {
	seedWindows(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		runWindow(t, Rolling, &tape{b[:min(len(b), 1000)]})
	})
}

// seedWindows adds tapes of every span and of equal, late and far times.
func seedWindows(f *testing.F) {
	f.Add([]byte{})
	for i := range 24 {
		b := make([]byte, 160)
		for j := range b {
			b[j] = byte(i*j + j*j*7 + i>>2)
		}
		b[0], b[1], b[2] = byte(i), byte(i*3), byte(i)
		f.Add(b)
	}
}
