package dev.signet.client.pure;

import com.dylibso.chicory.runtime.ByteArrayMemory;
import com.dylibso.chicory.runtime.HostFunction;
import com.dylibso.chicory.runtime.ImportFunction;
import com.dylibso.chicory.runtime.ImportValues;
import com.dylibso.chicory.runtime.Instance;
import com.dylibso.chicory.runtime.Memory;
import com.dylibso.chicory.runtime.alloc.MemAllocStrategy;
import com.dylibso.chicory.wasm.WasmModule;
import com.dylibso.chicory.wasm.types.FunctionImport;
import dev.signet.client.pure.internal.QuickJs;
import java.io.IOException;
import java.util.ArrayList;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * QuickJS-ng as WebAssembly, which the build compiled to bytecode of the JVM: evaluates the core, and enters it.
 *
 * <p>A trap, an exception that leaves the core, and an exceeded memory are final: each later entry fails. One thread uses it.
 */
final class Engine {
  /** Functions that the engine calls. */
  interface Host {
    /**
     * The core's {@code host} function.
     *
     * @param arguments each a Double, {@link Values.Text}, bytes or null
     * @return one of these; null refuses
     */
    @Nullable Object call(@Nullable Object[] arguments);

    long nowNanoseconds();

    byte[] random(int length);
  }

  /** A half of the stack that is inside the linear memory. */
  private static final int JS_STACK_BYTES = 512 * 1024;
  /** Every intrinsic but {@code eval} and {@code Function}: the core is bytecode. */
  private static final long INTRINSICS = 0xffff_ffffL & ~2L;
  /** Errors of WASI. */
  private static final int BAD_FILE = 8, NOT_SUPPORTED = 52;

  private static final WasmModule MODULE = QuickJs.load();

  /** The memory grows in large steps: Chicory copies it at each, and does not wipe the earlier copy. */
  private static final MemAllocStrategy STEPS = new MemAllocStrategy() {
    private static final int STEP = 16 << 20;

    @Override
    public int initial(int least) {
      return next(0, least);
    }

    @Override
    public int next(int current, int target) {
      return target <= current ? current : (target + STEP - 1) / STEP * STEP;
    }
  };

  private final Host host;
  private final int memoryLimit;
  private final Instance instance;
  private final Memory memory;
  private final Values values;
  private final long signet;
  private @Nullable Throwable failed;

  /**
   * Starts an engine with the core.
   *
   * @param memoryLimit in bytes
   * @throws EngineException if it does not start
   */
  Engine(Host host, int memoryLimit) {
    this.host = host;
    this.memoryLimit = memoryLimit;
    instance = Instance.builder(MODULE)
        .withImportValues(imports())
        .withMachineFactory(QuickJs::create)
        .withMemoryFactory(limits -> new ByteArrayMemory(limits, STEPS))
        .build();
    memory = instance.memory();
    instance.export("_initialize").apply();
    if (call("qjs_init2", INTRINSICS) != 0) throw new EngineException("the engine did not start");
    // Twice the limit, so that the core never sees an exhausted memory: this class ends it before.
    call("qjs_set_memory_limit", Math.min(2L * memoryLimit, Integer.MAX_VALUE));
    call("qjs_set_max_stack_size", JS_STACK_BYTES);
    values = new Values(instance);
    var global = call("qjs_get_global");
    values.withName("host", name -> {
      var function = call("qjs_new_host_function", name, "host".length(), 0);
      call("qjs_set_prop_string", global, name, function);
      call("qjs_free_value", function);
      return function;
    });
    var core = resource("core.bc");
    guarded(() -> {
      call("qjs_free_value", values.checked(values.withCopy(core, at -> call("qjs_eval_bytecode", at, core.length))));
      settle();
    });
    signet = values.withName("signet", name -> call("qjs_get_prop_string", global, name));
    call("qjs_free_value", global);
  }

  /**
   * Calls a function of the global object {@code signet}, and runs the pending jobs until none is left.
   *
   * @throws EngineException after a fault of the engine
   */
  void enter(String name, Object... arguments) {
    guarded(() -> {
      var function = values.withName(name, at -> call("qjs_get_prop_string", signet, at));
      var given = new byte[4 * arguments.length];
      var handles = new long[arguments.length];
      for (int i = 0; i < handles.length; i++) {
        handles[i] = values.checked(values.toEngine(arguments[i]));
        Values.writeWord(given, 4 * i, (int) handles[i]);
      }
      var result = values.checked(
          values.withCopy(given, list -> call("qjs_call", function, signet, handles.length, list)));
      for (var handle : handles) call("qjs_free_value", handle);
      call("qjs_free_value", result);
      call("qjs_free_value", function);
      settle();
    });
  }

  /** For tests. */
  Memory memory() {
    return memory;
  }

  int memoryBytes() {
    return memory.pages() * Memory.PAGE_SIZE;
  }

  /** Overwrites the linear memory. The engine cannot be used any more. */
  void wipe() {
    if (failed == null) failed = new EngineException("the engine was closed");
    memory.zero();
  }

  private void settle() {
    while (call("qjs_is_job_pending") != 0) {
      if ((int) call("qjs_execute_pending_job") < 0) throw new EngineException("a job of the core threw");
    }
  }

  private void guarded(Runnable work) {
    if (failed != null) throw new EngineException("the engine has failed before");
    try {
      work.run();
      checkMemory();
    } catch (RuntimeException | StackOverflowError | OutOfMemoryError fault) {
      failed = fault;
      throw fault instanceof EngineException known ? known : new EngineException("the engine trapped");
    }
  }

  private void checkMemory() {
    if (memoryBytes() > memoryLimit) throw new EngineException("the core exceeds its memory limit");
  }

  private long call(String name, long... arguments) {
    var result = instance.export(name).apply(arguments);
    return result == null || result.length == 0 ? 0 : result[0];
  }

  private static byte[] resource(String name) {
    try (var in = Engine.class.getResourceAsStream(name)) {
      if (in == null) throw new EngineException("the jar has no " + name + ": npm run native:core, before it is built");
      return in.readAllBytes();
    } catch (IOException fault) {
      throw new EngineException("the jar's " + name + " cannot be read");
    }
  }

  /** The engine gets no file, no environment and no module. */
  private static ImportValues importsOf(Function<String, java.util.function.ToLongFunction<long[]>> functions) {
    var found = new ArrayList<ImportFunction>();
    var section = MODULE.importSection();
    for (int i = 0; i < section.importCount(); i++) {
      if (!(section.getImport(i) instanceof FunctionImport each)) continue;
      var type = MODULE.typeSection().getType(each.typeIndex());
      var function = functions.apply(each.name());
      found.add(new HostFunction(each.module(), each.name(), type, (unused, arguments) -> {
        var result = function.applyAsLong(arguments);
        return type.returns().isEmpty() ? new long[0] : new long[] {result};
      }));
    }
    return ImportValues.builder().withFunctions(found).build();
  }

  private ImportValues imports() {
    return importsOf(name -> switch (name) {
      case "host_call" -> arguments -> hostCall((int) arguments[3], (int) arguments[4]);
      case "host_promise_rejection" -> arguments -> {
        call("qjs_free_value", arguments[0]);
        return call("qjs_free_value", arguments[1]);
      };
      case "clock_time_get" -> arguments -> {
        instance().memory().writeLong((int) arguments[2], host.nowNanoseconds());
        return 0;
      };
      case "random_get" -> arguments -> {
        instance().memory().write((int) arguments[0], host.random((int) arguments[1]));
        return 0;
      };
      case "fd_write", "fd_fdstat_get" -> arguments -> BAD_FILE;
      case "fd_close", "fd_seek" -> arguments -> NOT_SUPPORTED;
      default -> arguments -> 0;
    });
  }

  /** For lambdas that are made before the field is set. */
  private Instance instance() {
    return instance;
  }

  private long hostCall(int count, int list) {
    checkMemory();
    var arguments = new Object[count];
    for (int i = 0; i < count; i++) arguments[i] = values.fromEngine(memory.readInt(list + 4 * i) & 0xffff_ffffL);
    return values.toEngine(host.call(arguments));
  }
}
