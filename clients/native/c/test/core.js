// A core for tests of the library alone: each call makes the host do one thing.
const output = (kind, id, bytes) => host(23, kind, id, bytes)
const utf8 = (text) => host(20, text)
const text = (bytes) => host(21, bytes)
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")
const unhex = (digits) => Uint8Array.from(digits.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
const effects = new Map()
const kept = []
let nextEffect = 1

/** An argument or an answer as JSON: a number, a text, or bytes as {hex}. */
const fromJson = (value) => (typeof value === "object" ? unhex(value.hex) : value)
const toJson = (value) => (value instanceof Uint8Array ? { hex: hex(value) } : (value ?? null))
const deep = (n) => (n === 0 ? 0 : 1 + deep(n - 1))

const methods = {
  // [primitive, ...arguments] -> its answer
  host: (id, request) => reply(id, toJson(host(...JSON.parse(text(request)).map(fromJson)))),
  // An Effect -> its EffectResult, in pieces before.
  effect: (id, request) => {
    const effect = nextEffect++
    effects.set(effect, { call: id, pieces: [] })
    output(4, effect, request)
  },
  cancel: (id, request) => {
    output(5, Number(text(request)), new Uint8Array(0))
    reply(id, null)
  },
  later: (id, request) => {
    const until = host(2) + Number(text(request))
    timers.push({ id, until })
    arm()
  },
  echo: (id, request) => output(1, id, request),
  many: (id, request) => {
    for (let i = 0; i < Number(text(request)); i++) output(3, 0, utf8(String(i)))
    reply(id, null)
  },
  keep: (id, request) => {
    kept.push(request, `${text(request)}!`)
    reply(id, null)
  },
  recurse: (id, request) => reply(id, deep(Number(text(request)))),
  promises: (id) => {
    void (async () => {
      let sum = 0
      for (let i = 0; i < 1000; i++) sum += await i
      reply(id, sum)
    })()
  },
  fill: () => {
    for (;;) kept.push(new Uint8Array(1 << 20))
  },
  throw: () => {
    throw new Error("thrown for a test")
  },
  evaluate: (id) => {
    let made = "refused"
    try {
      // biome-ignore lint/security/noGlobalEval: shows that the engine has none
      made = globalThis.eval("1 + 1")
    } catch {}
    reply(id, made)
  },
}
const timers = []
const arm = () => output(6, timers.length === 0 ? 0 : Math.min(...timers.map(({ until }) => until)))
const reply = (id, value) => output(1, id, utf8(JSON.stringify(value)))

globalThis.signet = {
  start: (info, options) => {
    kept.push(info, options)
    if (text(options).includes("refuse")) output(2, 0, unhex("0804"))
    else output(1, 0, new Uint8Array(0))
  },
  call: (id, method, request) => {
    const run = methods[method]
    if (run === undefined) output(2, id, utf8(method))
    else run(id, request)
  },
  complete: (id, result) => {
    const effect = effects.get(id)
    if (effect === undefined) return
    effects.delete(id)
    reply(effect.call, { effect: id, result: hex(result), pieces: effect.pieces })
  },
  push: (id, piece) => effects.get(id)?.pieces.push(hex(piece)),
  tick: () => {
    const now = host(2)
    for (const timer of timers.splice(0)) {
      if (timer.until > now) timers.push(timer)
      else reply(timer.id, now - timer.until)
    }
    arm()
  },
}
