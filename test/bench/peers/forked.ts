// Signet and oidc-provider, each in a Node process of its own.
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import type { Started } from "../token/measured.ts"
import type { Peer, PeerOptions } from "./peer.ts"
import { postForm, postJson } from "./post-form.ts"

async function start(file: string, args: readonly string[]): Promise<Started & { child: ChildProcess }> {
  const child = fork(join(import.meta.dirname, "../token", file), args)
  const [started] = await Promise.race([
    once(child, "message"),
    once(child, "exit").then(() => Promise.reject(new Error(`${file} did not start`))),
  ])
  return { ...started, child }
}

const introspection = "introspection"

/** @param minted The name of the request whose token is introspected. */
async function peerOf(
  name: string,
  { child, requests }: Awaited<ReturnType<typeof start>>,
  minted: string,
  callers: number,
): Promise<Required<Peer> & { readonly works: Map<string, (caller: number) => Promise<unknown>> }> {
  const call = (kind: string, caller: number, more: Record<string, string> = {}) => {
    const of = requests[`${kind} ${caller}`]
    if (of === undefined) throw new Error(`${name} has no ${kind} request`)
    return postForm(of.url, { ...of.form, ...more }, of.headers)
  }
  const tokens: string[] = []
  // Filling tables takes longer than a token lives.
  const prepare = async (work: string) => {
    if (work !== introspection) return
    for (let i = 0; i < callers; i++) tokens[i] = String((await call(minted, i)).access_token)
  }
  const introspect = async (caller: number) => {
    const { active } = await call("introspect", caller, { token: tokens[caller] ?? "" })
    if (active !== true) throw new Error(`${name} does not know its token`)
  }
  return {
    name,
    pid: child.pid ?? 0,
    works: new Map<string, (caller: number) => Promise<unknown>>([
      ["client_credentials", (caller: number) => call("token", caller)],
      [introspection, introspect],
    ]),
    prepare,
    async stop() {
      const ended = once(child, "exit")
      child.disconnect()
      await ended
    },
  }
}

const signInWork = "sign-in"
/** Prepared for each caller; later ones include the stand-in provider's work. */
const signInsPerSecond = 60

export async function startSignet({ databaseUrl, callers }: PeerOptions): Promise<Peer> {
  const started = await start("ours.ts", [databaseUrl, String(callers)])
  const peer = await peerOf("signet", started, "token", callers)
  const { origin } = new URL(started.requests["token 0"]?.url ?? "")
  const newLogin = (caller: number) =>
    postJson(`${origin}/dev/idp-a/login-request`, { email: `caller-${caller}@example.com` })
  /** Requests with tokens of the stand-in provider, by caller: each is used once. */
  let logins: (readonly Record<string, unknown>[])[] = []
  const signIn = async (caller: number) => {
    const [login = await newLogin(caller), ...left] = logins[caller] ?? []
    logins[caller] = left
    return postJson(`${origin}/auth/login/idp-a`, login)
  }
  const prepare = async (work: string, seconds: number) => {
    await peer.prepare(work, seconds)
    if (work !== signInWork) return
    const each = Math.ceil(seconds * signInsPerSecond)
    logins = await Promise.all(
      Array.from({ length: callers }, (_, caller) => Promise.all(Array.from({ length: each }, () => newLogin(caller)))),
    )
  }
  const refreshTokens: string[] = []
  for (let i = 0; i < callers; i++) refreshTokens.push(String((await signIn(i)).refreshToken))
  peer.works.set("refresh", async (caller) => {
    const next = await postJson(`${origin}/auth/session/refresh`, { refreshToken: refreshTokens[caller] })
    refreshTokens[caller] = String(next.refreshToken)
  })
  peer.works.set(signInWork, signIn)
  return { ...peer, prepare }
}

/** With its memory adapter: nothing is written, and no other process knows its tokens. */
export async function startOidcProvider({ callers }: PeerOptions): Promise<Peer> {
  return peerOf("oidc-provider, memory", await start("oidc-provider.ts", [String(callers)]), "opaque", callers)
}
