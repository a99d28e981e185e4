package policyfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// toJSON converts one YAML document to JSON whose values stand on the lines
// they had, so that a fault found later is reported where the reader looks for
// it.
//
// The subset: mappings with string keys, sequences, strings, whole numbers,
// true, false and null. Anchors, aliases, merge keys, tags, fractions and
// further documents are errors: a policy file should say what it means where
// it says it.
func toJSON(text []byte) ([]byte, error) {
	d := yaml.NewDecoder(bytes.NewReader(text))
	var root, second yaml.Node
	if err := d.Decode(&root); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("no policies: the file is empty")
		}
		return nil, oneLine(err)
	}
	if err := d.Decode(&second); err == nil {
		return nil, fmt.Errorf("line %d: a second document, expected one", second.Line)
	} else if !errors.Is(err, io.EOF) {
		return nil, oneLine(err)
	}
	if len(root.Content) == 0 {
		return nil, errors.New("no policies: the file is empty")
	}
	c := converter{line: 1}
	if err := c.node(root.Content[0]); err != nil {
		return nil, err
	}
	return c.out.Bytes(), nil
}

func oneLine(err error) error {
	return errors.New(strings.Join(strings.Fields(strings.TrimPrefix(err.Error(), "yaml: ")), " "))
}

type converter struct {
	out  bytes.Buffer
	line int // of the end of out, from 1
}

// to starts new lines until out has reached the node's.
func (c *converter) to(n *yaml.Node) {
	for ; c.line < n.Line; c.line++ {
		c.out.WriteByte('\n')
	}
}

func (c *converter) node(n *yaml.Node) error {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return fmt.Errorf("line %d: anchors and aliases are not supported, write the value out", n.Line)
	case n.Style&yaml.TaggedStyle != 0:
		return fmt.Errorf("line %d: the tag %s is not supported, leave it out", n.Line, n.Tag)
	}
	c.to(n)
	switch n.Kind {
	case yaml.MappingNode:
		return c.mapping(n)
	case yaml.SequenceNode:
		c.out.WriteByte('[')
		for i, item := range n.Content {
			if i > 0 {
				c.out.WriteByte(',')
			}
			if err := c.node(item); err != nil {
				return err
			}
		}
		c.out.WriteByte(']')
		return nil
	case yaml.ScalarNode:
		return c.scalar(n)
	}
	return fmt.Errorf("line %d: unexpected YAML", n.Line)
}

func (c *converter) mapping(n *yaml.Node) error {
	c.out.WriteByte('{')
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str" {
			return fmt.Errorf("line %d: a key must be a string without a tag", key.Line)
		}
		if i > 0 {
			c.out.WriteByte(',')
		}
		if err := c.node(key); err != nil {
			return err
		}
		c.out.WriteByte(':')
		if err := c.node(value); err != nil {
			return err
		}
	}
	c.out.WriteByte('}')
	return nil
}

func (c *converter) scalar(n *yaml.Node) error {
	switch n.ShortTag() {
	case "!!str", "!!timestamp":
		text, err := json.Marshal(n.Value)
		if err != nil {
			return fmt.Errorf("line %d: %w", n.Line, err)
		}
		c.out.Write(text)
		return nil
	case "!!null":
		c.out.WriteString("null")
		return nil
	case "!!bool":
		c.out.WriteString(strings.ToLower(n.Value))
		return nil
	case "!!int":
		if json.Valid([]byte(n.Value)) {
			c.out.WriteString(n.Value)
			return nil
		}
	}
	return fmt.Errorf("line %d: %.40q is not a string, a plain whole number, true or false", n.Line, n.Value)
}
