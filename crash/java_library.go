package crash

import "strings"

// javaRuntime reports frames of the JVM languages' own libraries.
func javaRuntime(f Frame) bool {
	switch f.File {
	case "libjvm.so", "jvm.dll", "libjvm.dylib", "libc.so.6", "libpthread.so.0", "ntdll.dll", "KERNELBASE.dll", "libzip.so", "libjava.so":
		return true
	}
	first, _, _ := strings.Cut(f.Function, ".")
	switch first {
	case "java", "javax", "jakarta", "sun", "jdk", "kotlin", "kotlinx", "scala", "groovy", "clojure", "android", "androidx", "dalvik", "libcore":
		return true
	}
	switch javaPrefix(f.Function, 2) {
	case "com.sun", "org.codehaus", "com.android":
		return javaPrefix(f.Function, 3) != "com.android.vending"
	}
	return javaIgnore(f)
}

// javaPrefix is the first n parts of a qualified name.
func javaPrefix(name string, n int) string {
	for i := range len(name) {
		if name[i] == '.' {
			if n--; n == 0 {
				return name[:i]
			}
		}
	}
	return name
}

// javaLibrary reports what nobody calls his own who reports a failure of his
// program: the runtime, and the frameworks and libraries that programs are
// built upon. A mod in Minecraft is its author's own, the game is not.
func javaLibrary(f Frame) bool {
	if javaMixedIn(f.Function) {
		return false
	}
	if strings.HasPrefix(f.Function, "org.apache.jsp.") {
		return false // a page of the user's, compiled
	}
	if javaRuntime(f) || javaObfuscated(f) {
		return true
	}
	switch javaPrefix(f.Function, 2) {
	case "org.springframework", "org.apache", "io.netty", "com.google", "com.fasterxml", "org.hibernate", "org.eclipse", "org.junit",
		"junit.framework", "org.mockito", "org.gradle", "worker.org", "org.jboss", "org.wildfly", "org.slf4j", "ch.qos", "io.micrometer",
		"reactor.core", "reactor.netty", "io.reactivex", "rx.internal", "rx.Observable", "okhttp3.internal", "com.squareup", "retrofit2.Retrofit",
		"com.zaxxer", "com.mysql", "org.postgresql", "oracle.jdbc", "com.microsoft", "org.h2", "org.sqlite", "org.mariadb",
		"com.mongodb", "redis.clients", "io.lettuce", "org.redisson", "org.elasticsearch", "co.elastic", "org.quartz", "org.yaml",
		"org.json", "net.bytebuddy", "javassist.util", "org.objectweb", "org.glassfish", "org.jetbrains", "io.ktor", "akka.actor",
		"akka.dispatch", "akka.stream", "akka.http", "play.api", "play.core", "io.vertx", "io.quarkus", "io.micronaut", "io.grpc",
		"software.amazon", "com.azure", "io.opentelemetry", "io.undertow", "org.thymeleaf", "freemarker.core",
		"org.flywaydb", "liquibase.changelog", "org.jooq", "com.baomidou", "com.alibaba", "com.facebook", "com.bumptech", "dagger.hilt",
		"org.testng", "org.scalatest", "sbt.internal", "org.openqa", "org.lwjgl", "com.badlogic", "com.jogamp", "javafx.scene",
		"net.minecraft", "net.minecraftforge", "net.neoforged", "cpw.mods", "net.fabricmc", "com.mojang", "org.bukkit", "io.papermc",
		"org.spigotmc", "org.quiltmc", "org.spongepowered", "com.destroystokyo", "co.aikar", "net.kyori", "net.md_5", "com.velocitypowered",
		"oolloo.jlw", "it.unimi", "org.graalvm", "com.oracle", "net.sf", "org.dom4j", "org.xml", "org.w3c", "org.ietf", "bolts.Task",
		"com.intellij", "hudson.remoting", "org.kohsuke", "com.thoughtworks", "io.swagger", "com.netflix", "feign.SynchronousMethodHandler",
		"org.bouncycastle", "io.sentry", "org.jvnet", "org.osgi", "org.aspectj", "net.jodah", "dev.failsafe", "com.esotericsoftware":
		return true
	}
	if strings.HasPrefix(f.Function, "org.jenkinsci.plugins.workflow.") || strings.HasPrefix(f.Function, "___cps.") {
		return true
	}
	first, rest, _ := strings.Cut(f.Function, ".")
	switch first {
	case "hudson", "jenkins": // a plugin is its author's own
		return !strings.HasPrefix(rest, "plugins.")
	case "com":
		return strings.HasPrefix(rest, "amazonaws.") && javaAmazon(rest[len("amazonaws."):])
	case "javafx", "okhttp3", "okio", "retrofit2", "rx", "akka", "play", "junit", "javassist", "liquibase", "freemarker", "feign", "sbt", "cats", "zio", "fs2", "oracle":
		return true
	}
	return false
}

// javaAmazon reports the packages of Amazon's kit; what else lies beside them
// are programs.
func javaAmazon(name string) bool {
	first, _, _ := strings.Cut(name, ".")
	switch first {
	case "services", "http", "client", "auth", "internal", "protocol", "retry", "transform", "util", "regions", "metrics", "event", "handlers", "waiters", "serverless":
		return true
	}
	return first != "" && first[0] >= 'A' && first[0] <= 'Z'
}

// javaMixedIn reports code that a mod put into one of the game's classes.
func javaMixedIn(name string) bool {
	m := name[strings.LastIndexByte(name, '.')+1:]
	kind, rest, ok := strings.Cut(m, "$")
	return ok && len(rest) > 7 && rest[6] == '$' && allDigits(rest[3:6]) && javaMixin(kind)
}

// javaObfuscated reports classes without a package and with a short lower-case
// name: a game's or a library's, renamed.
func javaObfuscated(f Frame) bool {
	class, _, _ := strings.Cut(f.Function, ".")
	if len(class) > 3 || strings.Count(f.Function, ".") > 1 || f.File != "SourceFile" && f.File != "Unknown Source" {
		return false
	}
	return class == strings.ToLower(class)
}

// javaIgnore reports what says nothing at all: reflection, generated classes,
// checks that throw for their caller, the bottom of a thread.
func javaIgnore(f Frame) bool {
	n := f.Function
	if f.File == "<generated>" || f.File == ".dynamic" {
		return true
	}
	switch javaPrefix(n, 2) {
	case "sun.reflect", "com.sun":
		if javaPrefix(n, 2) == "sun.reflect" || strings.HasPrefix(n, "com.sun.proxy.") {
			return true
		}
	case "java.lang":
		if strings.HasPrefix(n, "java.lang.reflect.") || strings.HasPrefix(n, "java.lang.invoke.") || n == "java.lang.Thread.run" || strings.HasPrefix(n, "java.lang.Throwable.") {
			return true
		}
	case "jdk.internal":
		if strings.HasPrefix(n, "jdk.internal.reflect.") || strings.HasPrefix(n, "jdk.internal.util.Preconditions") {
			return true
		}
	case "java.util":
		if strings.HasPrefix(n, "java.util.Objects.") || strings.HasPrefix(n, "java.util.Optional.") {
			return true
		}
	case "kotlin.jvm":
		return strings.HasPrefix(n, "kotlin.jvm.internal.Intrinsics")
	case "com.google":
		return strings.HasPrefix(n, "com.google.common.base.Preconditions")
	case "org.springframework":
		return strings.HasPrefix(n, "org.springframework.util.Assert")
	}
	if !strings.Contains(n, "$") {
		return strings.Contains(n, ".__")
	}
	return spoken(n, "$$Lambda", "CGLIB$$", "$$EnhancerBy", "$$FastClassBy", "$HibernateProxy$", "_$$_javassist", "_$$_jvst", "$ByteBuddy$",
		"$MockitoMock$", ".$Proxy", "GeneratedMethodAccessor", ".access$", "ExternalSyntheticLambda", "$r8$lambda", "$$Nest$", "-$$Lambda", "$$YJP$")
}
