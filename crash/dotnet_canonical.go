package crash

import "strings"

// netCanonical names a frame by type and method alone: whether the file is
// printed depends on whether the PDB is there. Of what the compiler makes
// (async machines, iterators, closures, local functions) the method in the
// source is named.
func netCanonical(f Frame) Frame {
	return Frame{Line: f.Line, Function: netFunction(f.Function)}
}

func netFunction(name string) string {
	if i := strings.IndexByte(name, '@'); i > 0 { // F#'s closures
		name = name[:i]
	}
	name = netUngeneric(name)
	var out []string
	for _, part := range netParts(name) {
		if !strings.HasPrefix(part, "<") {
			out = append(out, part)
			continue
		}
		// <Load>d__12, <>c__DisplayClass3_0, <Load>b__0, <Load>g__Read|1_0, <Main>$
		end := strings.IndexByte(part, '>')
		inner := strings.TrimLeft(part[1:max(1, end)], "<")
		rest := part[end+1:]
		switch {
		case strings.HasPrefix(rest, "g__"):
			local, _, _ := strings.Cut(rest[3:], "|")
			out = append(out, inner)
			_ = local // Demystifier prints it as +Read, older runtimes as g__Read: the method tells
		case inner != "":
			out = append(out, inner)
		}
	}
	if n := len(out); n > 1 && out[n-1] == "MoveNext" && strings.Contains(name, ">d") {
		out = out[:n-1]
	}
	// The method in a closure is named after the one that made it: one is enough.
	return strings.Join(out, ".")
}

// netParts splits a name at dots, but not within <…> and not at the dots of
// constructors.
func netParts(name string) []string {
	var parts []string
	depth, from := 0, 0
	for i := 0; i < len(name); i++ {
		switch name[i] {
		case '<':
			depth++
		case '>':
			depth--
		case '.':
			if depth > 0 {
				continue
			}
			if i == from { // ..ctor
				continue
			}
			parts = append(parts, name[from:i])
			from = i + 1
		}
	}
	return append(parts, name[from:])
}

// netUngeneric takes generic arguments and arities from a name: List`1[T].Add,
// List<T>.Add. What the compiler makes also has angles, but at the front of a
// part.
func netUngeneric(name string) string {
	if strings.IndexByte(name, '`') < 0 && strings.IndexByte(name, '[') < 0 && strings.IndexByte(name, '<') < 0 {
		return name
	}
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		c := name[i]
		switch {
		case c == '`':
			for i+1 < len(name) && name[i+1] >= '0' && name[i+1] <= '9' {
				i++
			}
		case c == '[', c == '<' && i > 0 && name[i-1] != '.' && name[i-1] != '<':
			depth := 0
			for ; i < len(name); i++ {
				if name[i] == '[' || name[i] == '<' {
					depth++
				} else if name[i] == ']' || name[i] == '>' {
					if depth--; depth == 0 {
						break
					}
				}
			}
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// netRuntime reports frames of the runtime's own libraries.
func netRuntime(f Frame) bool {
	first, _, _ := strings.Cut(f.Function, ".")
	switch first {
	case "System", "Mono", "MS", "Interop", "Internal", "mscorlib", "FSharp", "lambda_method", "DynamicClass", "Windows", "WinRT", "ABI", "managed-to-native", "runtime-invoke", "delegate-invoke":
		return true
	}
	return strings.HasPrefix(f.Function, "Microsoft.FSharp.") || strings.HasPrefix(f.Function, "Microsoft.VisualBasic.") || strings.HasPrefix(f.Function, "Microsoft.CSharp.") || netIgnore(f)
}

// netLibrary reports what nobody calls his own who reports a failure of his
// program: the runtime, frameworks, well-known packages.
func netLibrary(f Frame) bool {
	if netRuntime(f) {
		return true
	}
	first, rest, _ := strings.Cut(f.Function, ".")
	switch first {
	case "Microsoft", "UnityEngine", "UnityEditor", "Unity", "Newtonsoft", "Xunit", "NUnit", "Castle", "Autofac", "MediatR", "Serilog", "NLog", "log4net",
		"Npgsql", "MySql", "MySqlConnector", "Dapper", "AutoMapper", "FluentValidation", "Grpc", "Polly", "RestSharp", "Avalonia", "ReactiveUI",
		"HarmonyLib", "Harmony", "MonoMod", "Splat", "DryIoc", "Ninject", "StructureMap", "SimpleInjector", "Hangfire", "Quartz", "MassTransit",
		"RabbitMQ", "Confluent", "MongoDB", "NHibernate", "SQLite", "Swashbuckle", "IdentityServer4", "Azure", "Amazon", "Google", "Moq", "Xamarin",
		"Android", "Java", "UIKit", "Foundation", "AppKit", "ObjCRuntime", "Gtk", "GLib", "Gdk", "Gio", "OpenTK", "SharpDX", "Silk", "SkiaSharp",
		"SixLabors", "ImageMagick", "CefSharp", "Prism", "Caliburn", "GalaSoft", "CommunityToolkit", "Akka", "Orleans", "ServiceStack", "Nancy",
		"Steamworks", "Il2CppInterop", "Il2CppSystem", "Cysharp", "DG", "Zenject", "Mirror", "Photon", "BepInEx", "SQLitePCL", "Humanizer", "CsvHelper", "NuGet",
		"LinqToDB", "FirebirdSql", "Oracle", "EntityFramework", "Elasticsearch", "Nest", "Sentry", "OpenTelemetry", "Refit", "Flurl", "YamlDotNet", "Expecto", "Giraffe", "Fabulous", "WebSocketSharp", "DSharpPlus", "Discord":
		return rest != ""
	}
	return strings.HasPrefix(f.Function, "StackExchange.Redis.") || strings.HasPrefix(f.Function, "Rewired.")
}

// netIgnore reports what says nothing at all: helpers that throw for their
// caller, the machinery of async and of reflection.
func netIgnore(f Frame) bool {
	n := f.Function
	if !strings.HasPrefix(n, "System.") {
		return strings.HasPrefix(n, "DynamicClass.") || strings.HasPrefix(n, "lambda_method") || strings.HasPrefix(n, "Interop.")
	}
	return spoken(n, "ThrowHelper", ".ExceptionDispatchInfo.", "System.Runtime.CompilerServices.", "System.Reflection.", "System.RuntimeMethodHandle.",
		"System.Environment.get_StackTrace", "System.Threading.Tasks.Task.", "System.Threading.ExecutionContext.", "System.RuntimeType.", "System.SR.", "ThrowIf", "System.Diagnostics.Debug", "System.Activator.")
}
