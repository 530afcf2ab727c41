// Crictl is a stand-in for kubernetes-sigs/cri-tools' crictl on test hosts: the part of it that looks after images,
// written against the same CRI API. Options, output and exit codes of pull, images, inspecti, info, version and rmi are
// those of crictl 1.30 as far as programs read them; everything else is missing.
package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"gopkg.in/yaml.v3"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

const programVersion = "1.30.0 (stand-in of a test host)"

var defaultEndpoints = []string{"unix:///run/containerd/containerd.sock", "unix:///run/crio/crio.sock"}

// settings are the global options, whatever they came from: arguments, the environment, the configuration file.
type settings struct {
	Runtime string `yaml:"runtime-endpoint"`
	Image   string `yaml:"image-endpoint"`
	Seconds int    `yaml:"timeout"`
	timeout time.Duration
}

type client struct {
	settings
	images  cri.ImageServiceClient
	runtime cri.RuntimeServiceClient
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "time=%q level=fatal msg=%q\n", time.Now().Format(time.RFC3339), err.Error())
		os.Exit(1)
	}
}

func run(arguments []string) error {
	global := flag.NewFlagSet("crictl", flag.ExitOnError)
	var given settings
	var config string
	var version bool
	for _, name := range []string{"r", "runtime-endpoint"} {
		global.StringVar(&given.Runtime, name, os.Getenv("CONTAINER_RUNTIME_ENDPOINT"), "endpoint of the runtime service")
	}
	for _, name := range []string{"i", "image-endpoint"} {
		global.StringVar(&given.Image, name, os.Getenv("IMAGE_SERVICE_ENDPOINT"), "endpoint of the image service")
	}
	for _, name := range []string{"t", "timeout"} {
		global.DurationVar(&given.timeout, name, 0, "how long connecting may take (default 2s)")
	}
	for _, name := range []string{"c", "config"} {
		global.StringVar(&config, name, or(os.Getenv("CRI_CONFIG_FILE"), "/etc/crictl.yaml"), "configuration file")
	}
	global.Bool("D", false, "ignored")
	global.Bool("debug", false, "ignored")
	for _, name := range []string{"v", "version"} {
		global.BoolVar(&version, name, false, "print the version of this program")
	}
	global.Parse(arguments)
	if version {
		fmt.Printf("crictl version %s\n", programVersion)
		return nil
	}
	if global.NArg() == 0 {
		return errors.New("a command is needed: pull, images, inspecti, info, version or rmi")
	}
	if err := given.complete(config); err != nil {
		return err
	}
	connected, err := connect(given)
	if err != nil {
		return err
	}
	command, rest := global.Arg(0), global.Args()[1:]
	switch command {
	case "pull":
		return connected.pull(rest)
	case "images", "image", "img":
		return connected.list(rest)
	case "inspecti":
		return connected.inspect(rest)
	case "info":
		return connected.info(rest)
	case "version":
		return connected.version()
	case "rmi":
		return connected.remove(rest)
	}
	return fmt.Errorf("this stand-in for crictl does not know %q", command)
}

// complete fills what was not given from the configuration file, then from defaults.
func (s *settings) complete(config string) error {
	var file settings
	text, err := os.ReadFile(config)
	if err == nil {
		err = yaml.Unmarshal(text, &file)
	} else if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return fmt.Errorf("load config file: %w", err)
	}
	s.Runtime = or(s.Runtime, file.Runtime)
	s.Image = or(s.Image, file.Image, s.Runtime)
	if s.timeout == 0 {
		s.timeout = time.Duration(file.Seconds) * time.Second
	}
	if s.timeout == 0 {
		s.timeout = 2 * time.Second
	}
	return nil
}

func or(values ...string) string {
	for _, value := range values {
		if value != "" {
			return value
		}
	}
	return ""
}

func connect(s settings) (*client, error) {
	runtime, err := dial(s.Runtime, s.timeout)
	if err != nil {
		return nil, fmt.Errorf("validate service connection: %w", err)
	}
	image := runtime
	if s.Image != s.Runtime {
		if image, err = dial(s.Image, s.timeout); err != nil {
			return nil, fmt.Errorf("validate service connection: %w", err)
		}
	}
	return &client{s, cri.NewImageServiceClient(image), cri.NewRuntimeServiceClient(runtime)}, nil
}

// dial connects to an endpoint, or to the first default one that answers, and sees that it speaks CRI v1.
func dial(endpoint string, timeout time.Duration) (*grpc.ClientConn, error) {
	endpoints := defaultEndpoints
	if endpoint != "" {
		endpoints = []string{endpoint}
	}
	var failure error
	for _, each := range endpoints {
		if strings.HasPrefix(each, "/") {
			each = "unix://" + each
		}
		connection, err := grpc.NewClient(each, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err == nil {
			ctx, cancel := context.WithTimeout(context.Background(), timeout)
			_, err = cri.NewRuntimeServiceClient(connection).Version(ctx, &cri.VersionRequest{})
			cancel()
		}
		if err == nil {
			return connection, nil
		}
		failure = fmt.Errorf("validate CRI v1 runtime API for endpoint %q: %w", each, err)
	}
	return nil, failure
}

func (c *client) pull(arguments []string) error {
	options := flag.NewFlagSet("pull", flag.ExitOnError)
	credentials := options.String("creds", os.Getenv("CRICTL_CREDS"), "user:password")
	encoded := options.String("auth", os.Getenv("CRICTL_AUTH"), "base64 of user:password")
	var limit time.Duration
	options.DurationVar(&limit, "pull-timeout", 0, "how long the pull may take (default: no limit)")
	options.DurationVar(&limit, "pt", 0, "as --pull-timeout")
	options.Parse(arguments)
	if options.NArg() != 1 {
		return errors.New("cannot pull image: one image name is needed")
	}
	auth, err := authentication(*credentials, *encoded)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	if limit > 0 {
		ctx, cancel = context.WithTimeout(context.Background(), limit)
	}
	defer cancel()
	request := &cri.PullImageRequest{Image: &cri.ImageSpec{Image: options.Arg(0)}, Auth: auth}
	answer, err := c.images.PullImage(ctx, request)
	if err != nil {
		return fmt.Errorf("pulling image: %w", err)
	}
	fmt.Printf("Image is up to date for %s\n", answer.ImageRef)
	return nil
}

func authentication(credentials, encoded string) (*cri.AuthConfig, error) {
	if credentials != "" && encoded != "" {
		return nil, errors.New("both `--creds` and `--auth` are specified")
	}
	if encoded != "" {
		if _, err := base64.StdEncoding.DecodeString(encoded); err != nil {
			return nil, fmt.Errorf("decode `--auth`: %w", err)
		}
		return &cri.AuthConfig{Auth: encoded}, nil
	}
	if credentials == "" {
		return nil, nil
	}
	user, password, _ := strings.Cut(credentials, ":")
	return &cri.AuthConfig{Username: user, Password: password}, nil
}

func (c *client) list(arguments []string) error {
	options := flag.NewFlagSet("images", flag.ExitOnError)
	output := outputOption(options)
	var quiet bool
	options.BoolVar(&quiet, "q", false, "ids only")
	options.BoolVar(&quiet, "quiet", false, "ids only")
	options.Parse(arguments)
	request := &cri.ListImagesRequest{Filter: &cri.ImageFilter{Image: &cri.ImageSpec{Image: options.Arg(0)}}}
	answer, err := c.images.ListImages(context.Background(), request)
	if err != nil {
		return fmt.Errorf("list images: %w", err)
	}
	if *output == "json" {
		return printMessage(answer)
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', 0)
	if !quiet {
		fmt.Fprintln(table, "IMAGE\tTAG\tIMAGE ID\tSIZE")
	}
	for _, image := range answer.Images {
		if quiet {
			fmt.Fprintln(table, image.Id)
			continue
		}
		for _, name := range append(image.RepoTags, make([]string, 1)...)[:max(1, len(image.RepoTags))] {
			colon := max(strings.LastIndex(name, ":"), 0)
			id := strings.TrimPrefix(image.Id, "sha256:")
			tag := or(strings.TrimPrefix(name[colon:], ":"), "<none>")
			fmt.Fprintf(table, "%s\t%s\t%.13s\t%d\n", or(name[:colon], "<none>"), tag, id, image.Size)
		}
	}
	return table.Flush()
}

func (c *client) inspect(arguments []string) error {
	options := flag.NewFlagSet("inspecti", flag.ExitOnError)
	outputOption(options)
	options.Parse(arguments)
	if options.NArg() == 0 {
		return errors.New("ID cannot be empty")
	}
	for _, name := range options.Args() {
		request := &cri.ImageStatusRequest{Image: &cri.ImageSpec{Image: name}, Verbose: true}
		answer, err := c.images.ImageStatus(context.Background(), request)
		if err != nil {
			return fmt.Errorf("image status for %q request: %w", name, err)
		}
		if answer.Image == nil {
			return fmt.Errorf("no such image %q present", name)
		}
		if err := printStatus(answer.Image, answer.Info); err != nil {
			return err
		}
	}
	return nil
}

func (c *client) info(arguments []string) error {
	options := flag.NewFlagSet("info", flag.ExitOnError)
	outputOption(options)
	options.Parse(arguments)
	answer, err := c.runtime.Status(context.Background(), &cri.StatusRequest{Verbose: true})
	if err != nil {
		return fmt.Errorf("getting status of runtime: %w", err)
	}
	return printStatus(answer.Status, answer.Info)
}

func (c *client) version() error {
	answer, err := c.runtime.Version(context.Background(), &cri.VersionRequest{})
	if err != nil {
		return fmt.Errorf("getting the runtime version: %w", err)
	}
	fmt.Printf("Version:  %s\nRuntimeName:  %s\n", answer.Version, answer.RuntimeName)
	fmt.Printf("RuntimeVersion:  %s\nRuntimeApiVersion:  %s\n", answer.RuntimeVersion, answer.RuntimeApiVersion)
	return nil
}

func (c *client) remove(arguments []string) error {
	if len(arguments) == 0 {
		return errors.New("need at least one image name")
	}
	failed := false
	for _, name := range arguments {
		spec := &cri.ImageSpec{Image: name}
		status, err := c.images.ImageStatus(context.Background(), &cri.ImageStatusRequest{Image: spec})
		if err == nil && status.Image == nil {
			err = errors.New("no such image " + name)
		}
		if err == nil {
			_, err = c.images.RemoveImage(context.Background(), &cri.RemoveImageRequest{Image: spec})
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "error of removing image %q: %v\n", name, err)
			failed = true
			continue
		}
		for _, tag := range status.Image.RepoTags {
			fmt.Printf("Deleted: %s\n", tag)
		}
	}
	if failed {
		return errors.New("unable to remove the image(s)")
	}
	return nil
}

func outputOption(options *flag.FlagSet) *string {
	output := options.String("o", "", "json")
	options.StringVar(output, "output", "", "json")
	return output
}

// printStatus prints a status and what the runtime adds to it, whose values are JSON documents of their own or texts.
func printStatus(status proto.Message, more map[string]string) error {
	text, err := marshal.Marshal(status)
	if err != nil {
		return err
	}
	whole := map[string]json.RawMessage{"status": text}
	for key, value := range more {
		if !json.Valid([]byte(value)) {
			quoted, err := json.Marshal(value)
			if err != nil {
				return err
			}
			value = string(quoted)
		}
		whole[key] = json.RawMessage(value)
	}
	indented, err := json.MarshalIndent(whole, "", "  ")
	if err != nil {
		return err
	}
	fmt.Println(string(indented))
	return nil
}

// marshal is how cri-tools writes messages: fields that are not set are there, too.
var marshal = protojson.MarshalOptions{EmitUnpopulated: true, Indent: "  "}

func printMessage(answer proto.Message) error {
	text, err := marshal.Marshal(answer)
	if err != nil {
		return err
	}
	fmt.Println(string(text))
	return nil
}
