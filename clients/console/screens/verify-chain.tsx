import { AuditService } from "@signet/proto/auth/v1/audit_service"
import { Failed, useAction, useService } from "@signet/react/core"
import { type ReactNode, useRef, useState } from "react"
import { useAccess } from "../access.tsx"
import {
  type ChainState,
  type CheckpointState,
  importKeys,
  newChain,
  newCheckpoints,
  verifyCheckpoints,
  verifyLinks,
} from "../chain.ts"
import { t } from "../text/screens.ts"

interface Result {
  readonly chain: string
  readonly links: ChainState
  readonly checkpoints: CheckpointState
}

const linksPerPage = 500
const checkpointsPerPage = 100

/** Reads the whole chain and verifies it here, so that the server is not asked whether it is honest. */
export function VerifyChain({ appId, tenantId }: { appId: string; tenantId: string }): ReactNode {
  const audit = useService(AuditService)
  const { settings } = useAccess()
  const [progress, setProgress] = useState("")
  const [result, setResult] = useState<Result>()
  const stopping = useRef<AbortController>(undefined)
  const verify = useAction(async () => {
    const ending = new AbortController()
    const { signal } = ending
    stopping.current = ending
    setResult(undefined)
    const links = newChain()
    let chain = ""
    for (let afterSeq = 0n, isLast = false; !isLast; ) {
      const page = await audit.listAuditLinks({ appId, tenantId, afterSeq, pageSize: linksPerPage }, { signal })
      chain = page.chain
      await verifyLinks(chain, links, page.links)
      afterSeq = page.links.at(-1)?.seq ?? afterSeq
      isLast = page.links.length < linksPerPage
      setProgress(t.audit.verifying(links.links))
    }
    const response = await fetch("/.well-known/statement-keys.json", { signal })
    const keys = await importKeys(await response.json())
    const checkpoints = newCheckpoints()
    const of = { chain, issuer: settings.issuer, keys, hashes: links.hashes }
    for (let afterNumber = 0n, isLast = false; !isLast; ) {
      const asked = { appId, tenantId, afterNumber, pageSize: checkpointsPerPage }
      const page = await audit.listAuditCheckpoints(asked, { signal })
      await verifyCheckpoints(of, checkpoints, page.checkpoints)
      afterNumber = page.checkpoints.at(-1)?.number ?? afterNumber
      isLast = page.checkpoints.length < checkpointsPerPage
    }
    setResult({ chain, links, checkpoints })
    setProgress("")
  })
  return (
    <section className="verify" aria-label={t.audit.verify}>
      <div className="buttons">
        <button type="button" className="signet-button" disabled={verify.isPending} onClick={() => verify.run()}>
          {t.audit.verify}
        </button>
        {verify.isPending && (
          <button type="button" className="signet-button" onClick={() => stopping.current?.abort()}>
            {t.cancel}
          </button>
        )}
        <span role="status" className="signet-muted">
          {verify.isPending ? progress : ""}
        </span>
      </div>
      <Failed error={verify.error} />
      {result && <Verified result={result} />}
    </section>
  )
}

function Verified({ result: { chain, links, checkpoints } }: { result: Result }): ReactNode {
  const flaws = [...links.flaws, ...checkpoints.flaws]
  return (
    <div className={`verified ${flaws.length === 0 ? "verified-whole" : "verified-broken"}`} role="status">
      <p className="strong">{flaws.length === 0 ? t.audit.whole : t.audit.broken(flaws.length)}</p>
      <p>{t.audit.verified(links.links, links.texts, checkpoints.count, checkpoints.heads)}</p>
      <p className="signet-id">{chain}</p>
      <ul>
        {flaws.slice(0, 50).map(({ what, at }) => (
          <li key={what + at}>
            {t.audit.flaws[what]} <code>{`${what} ${at}`}</code>
          </li>
        ))}
      </ul>
    </div>
  )
}
