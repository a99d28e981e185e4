package memory

import (
	"crypto/sha256"
	"net/http"
	"strings"
)

// APIKey reads who makes a request from "Authorization: Bearer KEY" or from
// "X-API-Key: KEY". It names nobody if there is none, if a header is there twice, or
// if the two differ: guessing which one is meant would let a caller be two.
//
// Every key is taken as it is. An API that gives out keys checks it here, or before.
func APIKey(r *http.Request) (key string, ok bool) {
	for _, v := range r.Header["Authorization"] {
		scheme, token, _ := strings.Cut(v, " ")
		token = strings.Trim(token, " ")
		if !strings.EqualFold(scheme, "Bearer") || token == "" || ok {
			return "", false
		}
		key, ok = token, true
	}
	given := r.Header["X-Api-Key"]
	switch {
	case len(given) == 0:
		return key, ok
	case len(given) > 1, given[0] == "", ok && key != given[0]:
		return "", false
	}
	return given[0], true
}

// owner stands for a caller where memories are kept: a key is not stored.
type owner [sha256.Size]byte

// ownerOf returns the caller that the limiter has let pass, and so is named.
func ownerOf(r *http.Request) owner {
	key, _ := APIKey(r)
	return sha256.Sum256([]byte(key))
}
