// The gateway's command line.
import { readFileSync } from "node:fs"
import { parseArgs } from "node:util"

export const usage = `npm run edge:gateway -- --to URL [--listen [HOST:]PORT] [--tls-cert FILE --tls-key FILE] [--header NAME]…
  --to      the server behind, such as https://messages.example
  --listen  default: 127.0.0.1:8090
  --header  a header to forward in addition to those of the contract; may be repeated`

export interface Settings {
  readonly to: URL
  readonly host: string
  readonly port: number
  readonly tls: { readonly cert: string; readonly key: string } | undefined
  readonly moreHeaders: readonly string[]
}

/** @returns Undefined for invalid options. A problem with a file is printed on standard error. */
export function settingsOf(args: string[]): Settings | undefined {
  try {
    const { values } = parseArgs({
      args,
      options: {
        to: { type: "string", default: "" },
        listen: { type: "string", default: "127.0.0.1:8090" },
        "tls-cert": { type: "string" },
        "tls-key": { type: "string" },
        header: { type: "string", multiple: true, default: [] },
      },
    })
    const { to, listen, "tls-cert": cert, "tls-key": key, header } = values
    const url = URL.parse(to)
    const [, host = "127.0.0.1", port = ""] = /^(?:(.+):)?(\d{1,5})$/.exec(listen) ?? []
    if (url === null || !/^https?:$/.test(url.protocol) || port === "" || Number(port) > 65_535) return undefined
    if ((cert === undefined) !== (key === undefined)) return undefined
    const tls = cert && key ? { cert: readFileSync(cert, "utf8"), key: readFileSync(key, "utf8") } : undefined
    return { to: url, host: host.replace(/^\[|\]$/g, ""), port: Number(port), tls, moreHeaders: header.map(lower) }
  } catch (error) {
    console.error(error instanceof Error ? error.message : "")
    return undefined
  }
}

const lower = (name: string) => name.toLowerCase()
