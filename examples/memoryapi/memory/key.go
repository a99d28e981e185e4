package memory

import (
	"crypto/sha256"
	"errors"
	"net/http"
	"strings"
)

// errTwoKeys is what a request contradicts itself with.
var errTwoKeys = errors.New("memory: the request carries more than one key")

// APIKey reads who makes a request from "Authorization: Bearer KEY" or from
// "X-API-Key: KEY". It names nobody if there is no key in them. One that is there twice,
// or two that differ, are an error: guessing which one is meant would let a caller be
// two, and taking it for nobody would let it pass where nobody may.
//
// Every key is taken as it is. An API that gives out keys checks it here, or before.
func APIKey(r *http.Request) (key string, err error) {
	authorization, given := r.Header["Authorization"], r.Header["X-Api-Key"]
	if len(authorization) > 1 || len(given) > 1 {
		return "", errTwoKeys
	}
	if len(authorization) == 1 {
		scheme, token, _ := strings.Cut(authorization[0], " ")
		if key = strings.Trim(token, " "); !strings.EqualFold(scheme, "Bearer") {
			key = ""
		}
		if len(given) == 1 && given[0] != key {
			return "", errTwoKeys
		}
		return key, nil
	}
	if len(given) == 1 {
		key = given[0]
	}
	return key, nil
}

// owner stands for a caller where memories are kept: a key is not stored.
type owner [sha256.Size]byte

// ownerOf returns the caller that the limiter has let pass, and so is named.
func ownerOf(r *http.Request) owner {
	key, _ := APIKey(r)
	return sha256.Sum256([]byte(key))
}
