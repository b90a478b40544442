// Checks what is deployed, by the parsers of the tools that will read it, without an engine or a
// cluster:
//
//	deploy render CHART NAMESPACE [VALUES.yaml ...]  Helm's manifests, NOTES.txt last;
//	    a last FILE.json has the versions of the cluster's secrets by name
//	deploy lint CHART NAMESPACE                      Helm's lint, strict, with the chart's own values
//	deploy conform SCHEMAS FILE.yaml                 kubeconform, strict; SCHEMAS is its template
//	deploy dockerfile FILE                           BuildKit's parser and linter
//	deploy compose FILE                              Compose's loader with its schema
//
// Faults go to stderr, with exit code 1.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	composecli "github.com/compose-spec/compose-go/v2/cli"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/yannh/kubeconform/pkg/resource"
	"github.com/yannh/kubeconform/pkg/validator"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

func main() {
	commands := map[string]func([]string) error{
		"render": render, "lint": lintChart, "conform": conform, "dockerfile": dockerfile, "compose": compose,
	}
	if len(os.Args) < 3 || commands[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: deploy render|lint|conform|dockerfile|compose ...")
		os.Exit(2)
	}
	if err := commands[os.Args[1]](os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// render prints what `helm template` would, with the chart's schema of values enforced.
func render(args []string) error {
	chart, err := loader.Load(args[0])
	if err != nil {
		return err
	}
	if err := chart.Validate(); err != nil {
		return err
	}
	given, versions := chartutil.Values{}, map[string]string(nil)
	for _, file := range args[2:] {
		if strings.HasSuffix(file, ".json") {
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			if err := json.Unmarshal(text, &versions); err != nil {
				return err
			}
			continue
		}
		values, err := chartutil.ReadValuesFile(file)
		if err != nil {
			return err
		}
		given = chartutil.CoalesceTables(values, given)
	}
	options := chartutil.ReleaseOptions{
		Name: "mem", Namespace: args[1], Revision: 1, IsInstall: true,
	}
	values, err := chartutil.ToRenderValues(chart, given, options, chartutil.DefaultCapabilities)
	if err != nil {
		return err
	}
	files, err := engine.Engine{Strict: true}.Render(chart, values)
	if err == nil && versions != nil {
		files, err = engine.RenderWithClientProvider(chart, values, cluster{versions: versions})
	}
	if err != nil {
		return err
	}
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool {
		a, b := strings.HasSuffix(names[i], ".txt"), strings.HasSuffix(names[j], ".txt")
		return a != b && b || a == b && names[i] < names[j]
	})
	rendered := map[string]string{}
	for _, name := range names {
		if !strings.HasPrefix(filepath.Base(name), "_") {
			rendered[name] = files[name]
		}
	}
	return json.NewEncoder(os.Stdout).Encode(rendered)
}

// cluster answers `lookup` of secrets.
type cluster struct {
	dynamic.NamespaceableResourceInterface
	versions map[string]string
}

func (c cluster) GetClientFor(_, _ string) (dynamic.NamespaceableResourceInterface, bool, error) {
	return c, true, nil
}

func (c cluster) Namespace(string) dynamic.ResourceInterface { return c }

func (c cluster) Get(
	_ context.Context, name string, _ metav1.GetOptions, _ ...string,
) (*unstructured.Unstructured, error) {
	version, there := c.versions[name]
	if !there {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, name)
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": name, "uid": "1", "resourceVersion": version},
	}}, nil
}

// lintChart prints what `helm lint --strict` would; warnings are faults.
func lintChart(args []string) error {
	found := lint.AllWithKubeVersion(args[0], map[string]any{}, args[1], nil)
	faults := []string{}
	for _, one := range found.Messages {
		if one.Severity >= support.WarningSev {
			faults = append(faults, one.Error())
		}
		fmt.Println(one.Error())
	}
	if len(faults) > 0 {
		return fmt.Errorf("%s", strings.Join(faults, "\n"))
	}
	return nil
}

// conform validates every manifest of a file; a kind without a schema is a fault.
func conform(args []string) error {
	checker, err := validator.New([]string{args[0]}, validator.Opts{Strict: true})
	if err != nil {
		return err
	}
	file, err := os.Open(args[1])
	if err != nil {
		return err
	}
	defer file.Close()
	faults := []string{}
	resources, broken := resource.FromStream(context.Background(), args[1], file)
	for one := range resources {
		result := checker.ValidateResource(one)
		signature, _ := one.Signature()
		switch result.Status {
		case validator.Valid:
			fmt.Printf("valid %s %s\n", signature.Kind, signature.Name)
		case validator.Empty:
		default:
			faults = append(faults, fmt.Sprintf("%s %s: %v", signature.Kind, signature.Name, result.Err))
			for _, one := range result.ValidationErrors {
				faults = append(faults, fmt.Sprintf("  %s: %s", one.Path, one.Msg))
			}
		}
	}
	for err := range broken {
		faults = append(faults, err.Error())
	}
	if len(faults) > 0 {
		return fmt.Errorf("%s", strings.Join(faults, "\n"))
	}
	return nil
}

// dockerfile prints the stages with their instructions as JSON; the linter's warnings are faults.
func dockerfile(args []string) error {
	text, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	parsed, err := parser.Parse(bytes.NewReader(text))
	if err != nil {
		return err
	}
	faults := []string{}
	for _, one := range parsed.Warnings {
		faults = append(faults, fmt.Sprintf("line %d: %s", one.Location.Start.Line, one.Short))
	}
	lint := linter.New(&linter.Config{
		Warn: func(name, _, _, message string, at []parser.Range) {
			line := 0
			if len(at) > 0 {
				line = at[0].Start.Line
			}
			faults = append(faults, fmt.Sprintf("line %d: %s: %s", line, name, message))
		},
	})
	stages, args_, err := instructions.Parse(parsed.AST, lint)
	if err != nil {
		return err
	}
	if len(faults) > 0 {
		return fmt.Errorf("%s", strings.Join(faults, "\n"))
	}
	type stage struct {
		Name, From   string
		Instructions []map[string]any
	}
	told := struct {
		Arguments []string
		Stages    []stage
	}{}
	for _, one := range args_ {
		told.Arguments = append(told.Arguments, one.String())
	}
	for _, one := range stages {
		made := stage{Name: one.Name, From: one.BaseName}
		for _, command := range one.Commands {
			made.Instructions = append(made.Instructions, map[string]any{
				"name": command.Name(), "text": fmt.Sprint(command), "parsed": command,
			})
		}
		told.Stages = append(told.Stages, made)
	}
	return json.NewEncoder(os.Stdout).Encode(told)
}

// compose prints the project as Compose loads it, all profiles and variables included.
func compose(args []string) error {
	options, err := composecli.NewProjectOptions(
		args[:1], composecli.WithName("turnfold"), composecli.WithProfiles([]string{"*"}),
		composecli.WithOsEnv,
	)
	if err != nil {
		return err
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		return err
	}
	text, err := project.MarshalJSON()
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(text)
	return err
}
