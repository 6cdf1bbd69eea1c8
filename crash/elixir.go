package crash

import "strings"

// elixir reads what processes of the BEAM end with: Elixir's exceptions and
// exits, Erlang's reasons with their stacks, the shell's reports.
func elixir() language {
	return language{
		name:      "elixir",
		begins:    exBegins,
		signs:     []string{"** (", "[{file,", "** Reason for", "exception error: ", "eheap_alloc: ", "in function ", " with reason: ", pyHead, `.ex"`, `.exs"`, `.erl"`, "stacktrace:"},
		read:      exRead,
		library:   exLibrary,
		ignore:    func(f Frame) bool { return f.Function == "" && f.File == "" },
		canonical: exCanonical,
		vague:     exVague,
		kind:      exKind,
	}
}

func exBegins(l string) bool {
	if found := strings.Contains(l, "** ("); found {
		return exHead(l).ok
	}
	switch {
	case strings.Contains(l, "[{file,"), strings.HasPrefix(l, "** Reason for termination"), strings.Contains(l, "exception error: "), strings.HasPrefix(l, "eheap_alloc: "):
		return true
	case strings.Contains(l, " in function ") || strings.HasPrefix(l, "in function "):
		return erlCall(l).ok
	case strings.Contains(l, " with reason: "):
		return erlReported(l)
	case strings.Contains(l, pyHead), strings.Contains(l, `.ex"`), strings.Contains(l, `.exs"`), strings.Contains(l, `.erl"`):
		return clothed(l)
	case strings.Contains(l, "stacktrace:"):
		return strings.TrimSpace(l) == "stacktrace:"
	}
	return false
}

// exApps are the applications of Erlang, of Elixir, and those that most
// programs depend on. A trace names a frame's application but not whose it is.
const (
	exCoreApps = " elixir stdlib kernel mix ex_unit iex logger eex erts crypto ssl inets compiler public_key sasl" +
		" mnesia ssh runtime_tools tools syntax_tools hex rebar xmerl asn1 "
	exDepApps = " phoenix phoenix_pubsub phoenix_html phoenix_ecto phoenix_live_view phoenix_live_reload" +
		" phoenix_live_dashboard phoenix_template phoenix_view ecto ecto_sql ecto_sqlite3 plug plug_cowboy plug_crypto" +
		" cowboy cowlib ranch bandit thousand_island db_connection postgrex myxql mariaex tds mongodb mongodb_driver" +
		" exqlite absinthe absinthe_plug absinthe_phoenix dataloader telemetry telemetry_metrics jason poison jsx jiffy" +
		" hackney httpoison tesla finch mint req nimble_pool nimble_options nimble_parsec gen_stage flow broadway" +
		" broadway_rabbitmq oban guardian guardian_db comeonin bcrypt_elixir argon2_elixir pow ueberauth oauth2 joken jose" +
		" swoosh bamboo gen_smtp sentry rollbax gettext decimal timex tzdata ex_aws ex_aws_s3 ex_machina credo" +
		" dialyxir distillery libcluster horde swarm quantum redix exredis exq verk amqp amqp_client rabbit_common lager" +
		" castore certifi floki meck mox bypass wallaby hound cachex con_cache poolboy worker_pool conduit gun ibrowse" +
		" httpotion sweet_xml erlsom waffle arc arc_ecto ex_doc earmark makeup nerves nerves_runtime vintage_net circuits_uart" +
		" opentelemetry new_relic_agent spandex prometheus_ex recon brod kafka_ex elsa grpc protobuf gpb corsica cors_plug" +
		" scrivener scrivener_ecto inflex slime surface file_system rustler commanded eventstore ash spark nx exla bumblebee axon "
	exOTPFiles = " gen_server.erl proc_lib.erl gen_statem.erl gen_event.erl gen.erl gen_fsm.erl supervisor.erl lists.erl" +
		" maps.erl ets.erl erl_eval.erl io.erl io_lib.erl timer.erl application_master.erl application.erl" +
		" code_server.erl init.erl erl_internal.erl re.erl file.erl gen_tcp.erl ssl.erl tls_connection.erl" +
		" elixir.erl elixir_compiler.erl elixir_module.erl elixir_dispatch.erl elixir_expand.erl elixir_lexical.erl" +
		" escript.erl shell.erl dets.erl dict.erl orddict.erl string.erl unicode.erl binary.erl error_handler.erl" +
		" elixir_parser.erl elixir_errors.erl user_drv.erl beam_lib.erl crypto.erl inet.erl gen_udp.erl queue.erl" +
		" cowboy_handler.erl cowboy_stream_h.erl cowboy_protocol.erl ranch.erl "
	exElixirFiles = " enum.ex kernel.ex gen_server.ex task.ex supervised.ex stream.ex map.ex keyword.ex string.ex file.ex" +
		" process.ex agent.ex dynamic_supervisor.ex parallel_compiler.ex code.ex "
)

func exLibrary(f Frame) bool {
	if f.File == "" {
		return true
	}
	p := slashed(f.File)
	_, base := splitBase(p)
	if listed(exOTPFiles, base) || strings.HasPrefix(p, "deps/") || strings.Contains(p, "/deps/") || strings.Contains(p, "/lib/elixir/") {
		return true
	}
	if f.Module != "" {
		return listed(exCoreApps, f.Module) || listed(exDepApps, f.Module)
	}
	if exNamed(f.Function) {
		return true
	}
	return strings.Contains(p, "/erlang/") || strings.HasPrefix(p, "lib/") && listed(exElixirFiles, base) && !strings.Contains(f.Function, "Web")
}

// exNamed reports functions of modules that belong to well-known packages:
// releases and escripts do not print applications.
func exNamed(fn string) bool {
	if at := strings.LastIndex(fn, " in "); at >= 0 {
		fn = fn[at+len(" in "):]
	}
	fn = strings.TrimPrefix(strings.TrimPrefix(fn, "'"), "Elixir.")
	first, rest, deep := strings.Cut(fn, ".")
	return deep && listed(exModules, first) && !strings.HasPrefix(rest, "Tasks.")
}

const exModules = " Mix Ecto Phoenix Plug DBConnection Postgrex MyXQL Mariaex GenServer Enum Kernel ExUnit IEx Logger EEx" +
	" GenStage Flow Broadway Oban Absinthe Dataloader Tesla HTTPoison Finch Mint Jason Poison Bandit ThousandIsland" +
	" Cowboy Swoosh Bamboo Guardian Timex Redix Quantum Swarm Horde Commanded Nx ExAws GenRMQ AMQP "

// exOTP reports frames of the language itself.
func exOTP(f Frame) bool {
	if f.Module != "" {
		return listed(exCoreApps, f.Module) && f.Module != "mix"
	}
	_, base := splitBase(slashed(f.File))
	return f.File == "" || listed(exOTPFiles, base)
}

// exCanonical keeps a file's base name and a function's full name without its
// arity, which a trace may print as arguments, and without the numbers of its
// anonymous functions.
func exCanonical(f Frame) Frame {
	if f.File == "" && f.Function == "" {
		return f
	}
	_, f.File = splitBase(strings.ReplaceAll(f.File, `\`, "/"))
	f.Module = ""
	fn := f.Function
	if at := strings.LastIndex(fn, " in "); at >= 0 {
		fn = fn[at+len(" in "):]
	}
	if at := strings.Index(fn, `"-`); at >= 0 { // M."-f/2-fun-0-"/3
		fn = fn[:at] + fn[at+2:]
	} else if at := strings.Index(fn, ".-"); at >= 0 {
		fn = fn[:at+1] + fn[at+2:]
	}
	if at := strings.IndexAny(fn, "/("); at > 0 {
		fn = fn[:at]
	}
	switch fn = strings.TrimPrefix(strings.ReplaceAll(fn, ":", "."), "."); fn {
	case "(file)", "(module)", "(test)", "(stdlib)", "":
		fn = "<module>"
	}
	f.Function = strings.TrimPrefix(strings.ReplaceAll(fn, "'", ""), "Elixir.")
	return f
}

func exVague(typ string) bool {
	return listed(" RuntimeError ErlangError exit EXIT stop throw error Mix Mix.Error MatchError ConnectionError badmatch ", typ) ||
		strings.HasPrefix(typ, "EXIT")
}

// exKind gives Erlang's reasons the names that Elixir has for them.
func exKind(e exception) string {
	if s, ok := exReasons[e.typ]; ok {
		return s
	}
	if strings.HasPrefix(e.typ, "EXIT") {
		return "exit"
	}
	return e.typ
}

var exReasons = map[string]string{
	"badarg": "ArgumentError", "badmatch": "MatchError", "function_clause": "FunctionClauseError",
	"undef": "UndefinedFunctionError", "case_clause": "CaseClauseError", "badarith": "ArithmeticError",
	"badkey": "KeyError", "badmap": "BadMapError", "badfun": "BadFunctionError", "badarity": "BadArityError",
	"system_limit": "SystemLimitError", "if_clause": "CondClauseError", "try_clause": "TryClauseError", "stop": "exit",
}

// exAtoms are the system's and the drivers' errors, as atoms.
var exAtoms = []string{
	"econnrefused", "econnreset", "nxdomain", "etimedout", "ehostunreach", "enetunreach", "closed", "enoent", "eacces",
	"eaddrinuse", "enospc", "emfile", "enomem", "timeout", "noproc", "noconnection", "killed", "shutdown",
}

func exCode(msg string) string {
	head, _, _ := strings.Cut(msg, "\n")
	for _, a := range exAtoms {
		at := strings.Index(head, a)
		if at < 0 || at > 0 && isIdentByte(head[at-1]) || at+len(a) < len(head) && isIdentByte(head[at+len(a)]) {
			continue
		}
		return strings.ToUpper(a)
	}
	return ""
}

func exClass(e exception) string {
	switch e.code {
	case "ECONNREFUSED", "ECONNRESET", "NXDOMAIN", "ETIMEDOUT", "EHOSTUNREACH", "ENETUNREACH":
		return "outage"
	case "ENOMEM":
		return "oom"
	case "TIMEOUT":
		return "timeout"
	}
	switch {
	case e.typ == "eheap_alloc":
		return "oom"
	case e.typ == "DBConnection.ConnectionError":
		return "outage"
	case strings.HasPrefix(e.typ, "EXIT") && strings.HasPrefix(e.message, "time out"):
		return "timeout"
	}
	return ""
}
