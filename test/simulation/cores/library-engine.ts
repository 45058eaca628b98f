// libsignet in the place of an engine: the functions of signet.h enter its core.
import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import { EffectSchema, HostInfoSchema, NativeOptionsSchema, OutputKind, Primitive } from "@signet/proto/host/v1/host"
import type { EnteredEngine } from "../../../clients/native/wasm/core.ts"
import { EngineError, type EngineHost, type Value } from "../../../clients/native/wasm/engine.ts"
import { status } from "../../support/native/driver.ts"
import { startLineProcess } from "./line-process.ts"

/** The network, store, sign-in and box of the device, and its timer: all that the core emits without files. */
const performs = [...Array.from({ length: 14 }, (_, i) => i + 1), 18, 21, 22]

/** Starts a process with one client. @param program The driver of libsignet's tests. */
export function startLibrary(program: string, host: EngineHost): EnteredEngine {
  const process = startLineProcess(program)
  let wakeId = 0
  const emit = (kind: number, id: number, bytes = new Uint8Array()) =>
    void host.call([Primitive.OUTPUT, kind, id, bytes])

  /** Reads the answer of a command of driver.c. Answers what the library asks its program meanwhile, and takes its outputs. */
  function answer(): readonly string[] {
    for (;;) {
      const [first = "", ...others] = process.read().split(" ")
      if (first === "?") process.write(textOf(host.call(others.map(valueFrom))))
      else if (first === "!") pass(Number(others[0]), Number(others[1]), bytesOf(others[2]))
      else return [first, ...others]
    }
  }

  function open(info: Uint8Array): void {
    process.write(["open", 1, "asked", hexOf(optionsFor(info))].join(" "))
    const [code, error] = answer()
    if (code === "0") emit(OutputKind.REPLY, 0)
    else emit(OutputKind.REPLY_FAILURE, 0, bytesOf(error))
  }

  /** Queues, and takes every output. One write, because each line that is waited for costs two changes of process. */
  function enter(...words: readonly (string | number)[]): void {
    process.write(`${words.join(" ")}\ndrain`)
    const [queued] = answer()
    const [drained] = answer()
    if (Number(queued) !== status.OK || Number(drained) !== status.TIMEOUT) {
      throw new EngineError(`libsignet returned ${queued} and ${drained}`)
    }
  }

  function pass(kind: number, id: number, bytes: Uint8Array<ArrayBuffer>): void {
    const { effect } = fromBinary(EffectSchema, kind === OutputKind.EFFECT ? bytes : new Uint8Array())
    if (effect.case === "wakeUp") {
      wakeId = id
      emit(OutputKind.WAKE_AT, Number(effect.value.atMs))
    } else if (kind === OutputKind.CANCEL && id === wakeId) emit(OutputKind.WAKE_AT, 0)
    else emit(kind, id, bytes)
  }

  return {
    enter(name, [first = 0, ...others]) {
      if (name === "start" && first instanceof Uint8Array) open(first)
      else if (name === "tick") enter("complete", wakeId, "-")
      else enter(name, String(first), ...others.map((one) => (typeof one === "string" ? one : hexOf(one))))
    },
    memoryBytes: 0,
    memory: () => new Uint8Array(),
    wipe: process.kill,
  }
}

function optionsFor(bytes: Uint8Array): Uint8Array {
  const info = fromBinary(HostInfoSchema, bytes)
  const { platform, deferred, session } = info
  const [backend, version] = [info.boxBackend, info.boxVersion]
  const [hardware, deviceBound, persistent] = [info.boxHardware, info.boxDeviceBound, info.boxPersistent]
  const box = { case: "programBox", value: { backend, version, hardware, deviceBound, persistent } } as const
  const options = { platform, deferred, box, performs, ...(session && { session }) }
  return toBinary(NativeOptionsSchema, create(NativeOptionsSchema, options))
}

const valueFrom = (word: string): Value => (word.startsWith("x") ? bytesOf(word.slice(1)) : Number(word))
const textOf = (value: Value): string => (value instanceof Uint8Array ? `x${bytesHex(value)}` : String(value))
const bytesHex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex")
const hexOf = (value: Value) => (value instanceof Uint8Array && value.length > 0 ? bytesHex(value) : "-")
const bytesOf = (hex = "-") => new Uint8Array(Buffer.from(hex === "-" ? "" : hex, "hex"))
