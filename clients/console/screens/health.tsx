import { Failed, Loading } from "@signet/react/core"
import type { ReactNode } from "react"
import { useAsk } from "../ask.ts"
import { Card, Page } from "../page.tsx"
import { t } from "../text/screens.ts"

const probes = [
  { path: "/livez", name: t.health.live, about: t.health.liveAbout },
  { path: "/readyz", name: t.health.ready, about: t.health.readyAbout },
  { path: "/.well-known/jwks.json", name: t.health.keys, about: t.health.keysAbout },
  { path: "/security/limits", name: t.health.messaging, about: t.health.messagingAbout },
] as const

/** The public probes, as a load balancer sees them. */
export function Health(): ReactNode {
  return (
    <Page title={t.health.title} about={t.health.about}>
      <div className="tiles">
        {probes.map((probe) => (
          <Probe key={probe.path} {...probe} />
        ))}
      </div>
    </Page>
  )
}

function Probe({ path, name, about }: (typeof probes)[number]): ReactNode {
  const { data, error, isPending, refetch } = useAsk(["health", path], async (signal) => {
    const from = performance.now()
    const { ok, status } = await fetch(path, { signal, cache: "no-store" })
    return { ok, status, ms: Math.round(performance.now() - from) }
  })
  return (
    <Card title={name}>
      {isPending && <Loading />}
      {error && <Failed error={error} retry={() => void refetch()} />}
      {data && (
        <p className={`probe ${data.ok ? "probe-good" : "probe-bad"}`}>
          {data.ok ? t.health.good : t.health.bad(data.status)} <span className="signet-muted">{data.ms} ms</span>
        </p>
      )}
      <p className="signet-muted">{about}</p>
      <p className="signet-id">{path}</p>
    </Card>
  )
}
