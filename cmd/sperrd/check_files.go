package main

import (
	"os"
	"strings"

	"sperrd/internal/config"
)

// secretPlaces looks at where the secrets lie and who else can read them there.
func (f *findings) secretPlaces(path string, origins []config.Origin) {
	var plain []string
	files := make(map[string][]string) // keys by file
	var order []string
	for _, o := range origins {
		if o.Plain {
			plain = append(plain, o.Key)
		}
		if o.File == "" {
			continue
		}
		if _, known := files[o.File]; !known {
			order = append(order, o.File)
		}
		files[o.File] = append(files[o.File], o.Key)
	}
	if len(plain) > 0 {
		f.warn("secrets", strings.Join(plain, ", ")+" stand in the configuration file as they are",
			`write "env:NAME" or "file:/path" instead, so that the file can be shown and kept with others`)
		f.readers(path, "the configuration file "+path+", which holds secrets,")
	}
	for _, file := range order {
		f.readers(file, file+", which holds "+strings.Join(files[file], ", ")+",")
	}
}

// readers warns of a file that others can read. One that cannot be looked at was read a
// moment ago all the same, so nothing is said about it.
func (f *findings) readers(file, name string) {
	info, err := os.Stat(file)
	if err != nil {
		return
	}
	if others := otherReaders(info); others != "" {
		f.warn("secrets", name+" can be read by "+others, "chmod 600 "+file)
	}
}
