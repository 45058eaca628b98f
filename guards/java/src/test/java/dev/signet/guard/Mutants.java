package dev.signet.guard;

import java.io.IOException;
import java.lang.annotation.Annotation;
import java.lang.reflect.InvocationTargetException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ForkJoinPool;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/**
 * Removes one check of the guard after the other, and reports those that no vector misses. Reads mutants.txt: a head
 * line with the check, the test that runs its vectors, and the file; then what is replaced ({@code -}), and by what
 * ({@code +}).
 *
 * <p>Arguments: the folder of the sources, the folder of the classes, the folder of the tests' classes, and, for a part of
 * them, the test. With the system property {@code every}, each mutant of that many. The exit status is 1 when a mutant
 * survives.
 */
public final class Mutants {
  /** Some vectors wait: more threads than processors. */
  private static final int THREADS = 6;

  private final Path sources;
  private final Path classes;
  private final Path tests;

  private record Mutant(String name, String test, String file, String find, String replace) {}

  private Mutants(Path sources, Path classes, Path tests) {
    this.sources = sources;
    this.classes = classes;
    this.tests = tests;
  }

  public static void main(String[] args) throws Exception {
    var mutants = new Mutants(Path.of(args[0]), Path.of(args[1]), Path.of(args[2]));
    var survivors = new ConcurrentLinkedQueue<String>();
    var named = read().stream().filter(one -> args.length < 4 || one.test().equals(args[3])).toList();
    for (var one : named) position(one, Files.readString(mutants.sources.resolve(one.file())));
    var every = Integer.getInteger("every", 1);
    var all = IntStream.range(0, named.size()).filter(i -> i % every == 0).mapToObj(named::get).toList();
    new ForkJoinPool(THREADS)
        .submit(() -> all.parallelStream().forEach(mutant -> report(mutants, mutant, survivors)))
        .get();
    for (var test : all.stream().map(Mutant::test).distinct().toList()) {
      var failed = mutants.vectors(test, mutants.classes);
      if (failed != null) survivors.add(test + " fails without a mutant: " + failed);
    }
    System.out.println(all.size() + " mutants, survivors: " + survivors.size());
    survivors.forEach(System.out::println);
    System.exit(survivors.isEmpty() ? 0 : 1);
  }

  private static void report(Mutants mutants, Mutant mutant, Collection<String> survivors) {
    try {
      var failed = mutants.run(mutant);
      if (failed == null) survivors.add(mutant.test() + ": " + mutant.name());
      else System.out.println(mutant.name() + " -> " + mutant.test() + ": " + failed);
    } catch (Exception error) {
      survivors.add(error instanceof IllegalArgumentException ? error.getMessage() : mutant.name() + ": " + error);
    }
  }

  private static List<Mutant> read() throws IOException {
    try (var text = Mutants.class.getResourceAsStream("/mutants.txt")) {
      var mutants = new ArrayList<Mutant>();
      for (var block : new String(text.readAllBytes(), StandardCharsets.UTF_8).split("(?m)^== ")) {
        if (block.isBlank()) continue;
        var lines = block.lines().toList();
        var head = lines.get(0).split(" \\| ");
        mutants.add(new Mutant(head[0], head[1], head[2], part(lines, '-'), part(lines, '+')));
      }
      return mutants;
    }
  }

  private static String part(List<String> lines, char mark) {
    var part = lines.stream().filter(line -> !line.isEmpty() && line.charAt(0) == mark).map(line -> line.substring(1));
    return String.join("\n", part.toList());
  }

  private static int position(Mutant mutant, String source) {
    var at = source.indexOf(mutant.find());
    if (at >= 0 && source.indexOf(mutant.find(), at + 1) < 0) return at;
    throw new IllegalArgumentException(mutant.name() + ": not once in " + mutant.file());
  }

  /** The first vector that fails; null when none does. */
  private String run(Mutant mutant) throws Exception {
    var source = Files.readString(sources.resolve(mutant.file()));
    var at = position(mutant, source);
    var folder = Files.createTempDirectory("signet-mutant-");
    try {
      var changed = folder.resolve("source").resolve(mutant.file());
      Files.createDirectories(changed.getParent());
      var after = source.substring(at + mutant.find().length());
      Files.writeString(changed, source.substring(0, at) + mutant.replace() + after);
      var path = classes + System.getProperty("path.separator") + System.getProperty("java.class.path");
      var out = Files.createDirectories(folder.resolve("classes"));
      var compiler = ToolProvider.getSystemJavaCompiler();
      var status = compiler.run(null, null, null, "-d", "" + out, "-cp", path, "-nowarn", "" + changed);
      if (status != 0) throw new IllegalArgumentException(mutant.name() + ": it does not compile");
      return vectors(mutant.test(), out);
    } finally {
      try (Stream<Path> all = Files.walk(folder)) {
        all.sorted(Comparator.reverseOrder()).forEach(path -> path.toFile().delete());
      }
    }
  }

  private String vectors(String test, Path first) throws Exception {
    try (var loader = new First(first, classes, tests)) {
      var type = loader.loadClass("dev.signet.guard." + test);
      try {
        invokeStatic(type, BeforeAll.class);
        return firstFailed(type);
      } catch (InvocationTargetException error) {
        return "" + error.getCause();
      } finally {
        invokeStatic(type, AfterAll.class);
      }
    }
  }

  private static String firstFailed(Class<?> type) throws Exception {
    var constructor = type.getDeclaredConstructor();
    constructor.setAccessible(true);
    var instance = constructor.newInstance();
    for (var method : type.getDeclaredMethods()) {
      if (!method.isAnnotationPresent(TestFactory.class)) continue;
      method.setAccessible(true);
      for (var vector : ((Stream<?>) method.invoke(instance)).map(DynamicTest.class::cast).toList()) {
        try {
          vector.getExecutable().execute();
        } catch (Throwable error) {
          return vector.getDisplayName();
        }
      }
    }
    return null;
  }

  private static void invokeStatic(Class<?> type, Class<? extends Annotation> mark) throws Exception {
    for (var method : type.getDeclaredMethods()) {
      if (!method.isAnnotationPresent(mark)) continue;
      method.setAccessible(true);
      method.invoke(null);
    }
  }

  /** Loads the guard and its tests anew, the mutant before the rest. */
  private static final class First extends URLClassLoader {
    First(Path... folders) {
      super(Arrays.stream(folders).map(First::url).toArray(URL[]::new), Mutants.class.getClassLoader());
    }

    private static URL url(Path folder) {
      try {
        return folder.toUri().toURL();
      } catch (IOException error) {
        throw new IllegalArgumentException(error);
      }
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
      if (!name.startsWith("dev.signet.guard.")) return super.loadClass(name, resolve);
      synchronized (getClassLoadingLock(name)) {
        var loaded = findLoadedClass(name);
        return loaded == null ? findClass(name) : loaded;
      }
    }
  }
}
