import { fromJsonString } from "@bufbuild/protobuf"
import { AuditService, type ExplainAccessResponse, type ExplainedCheck } from "@signet/proto/auth/v1/audit_service"
import { Reason } from "@signet/proto/authz/v1/reason"
import { type AuthRequirement, AuthRequirementSchema } from "@signet/proto/authz/v1/requirement"
import { enumName, Failed, useAction, useService, useSignet } from "@signet/react/core"
import { type ReactNode, useState } from "react"
import { Card, Choice, Field } from "../page.tsx"
import { t } from "../text/why.ts"
import { factsOfExplanation } from "./step-facts.ts"
import { Steps } from "./steps.tsx"

/** A text that is no requirement. */
class RequirementUnreadable extends Error {
  override readonly name = "RequirementUnreadable"
}

/** Asks the server to explain a call. The token stays in the form's memory, and is gone once the answer is shown. */
export function ExplainToken(): ReactNode {
  const audit = useService(AuditService)
  const { session } = useSignet()
  const [token, setToken] = useState("")
  const [by, setBy] = useState("method")
  const [method, setMethod] = useState("AppAuthService/ListApps")
  const [requirement, setRequirement] = useState('{"scope": "notes.write"}')
  const [type, setType] = useState("")
  const [id, setId] = useState("")
  const [tenantId, setTenantId] = useState("")
  const [answer, setAnswer] = useState<ExplainAccessResponse>()
  const ask = useAction(async () => {
    const accessToken = token.trim() || (await session.accessToken())
    const resource = id === "" ? undefined : { type, id, tenantId }
    const target =
      by === "method"
        ? { case: "method" as const, value: method.trim() }
        : { case: "requirement" as const, value: parse(requirement) }
    setAnswer(undefined)
    setAnswer(await audit.explainAccess({ accessToken, target, tenantId, ...(resource && { resource }) }))
    setToken("")
  })
  return (
    <Card title={t.why.token}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault()
          ask.run()
        }}
      >
        <label className="signet-field">
          {t.why.accessToken}
          <span className="hint">{t.why.accessTokenHint}</span>
          <input
            type="password"
            value={token}
            autoComplete="off"
            spellCheck={false}
            onChange={(event) => setToken(event.target.value)}
          />
        </label>
        <Choice
          label={t.why.against}
          value={by}
          onChange={setBy}
          of={[
            ["method", t.why.byMethod],
            ["requirement", t.why.byRequirement],
          ]}
        />
        {by === "method" ? (
          <Field label={t.why.method} value={method} onChange={setMethod} isRequired />
        ) : (
          <Field
            label={t.why.requirement}
            hint={t.why.requirementHint}
            rows={3}
            value={requirement}
            onChange={setRequirement}
            isRequired
          />
        )}
        <div className="pair">
          <Field label={t.grant.resourceType} value={type} onChange={setType} placeholder="note" />
          <Field label={t.grant.resourceId} value={id} onChange={setId} />
          <Field label={t.audit.tenant} value={tenantId} onChange={setTenantId} placeholder="ten_…" />
        </div>
        {ask.error instanceof RequirementUnreadable ? (
          <p className="signet-failed" role="alert">
            {t.why.unreadable}
          </p>
        ) : (
          <Failed error={ask.error} />
        )}
        <button type="submit" className="signet-button signet-primary" disabled={ask.isPending}>
          {t.why.explain}
        </button>
      </form>
      {answer && <Answer answer={answer} />}
    </Card>
  )
}

function parse(text: string): AuthRequirement {
  try {
    return fromJsonString(AuthRequirementSchema, text)
  } catch (cause) {
    throw new RequirementUnreadable("not a requirement", { cause })
  }
}

function Answer({ answer }: { answer: ExplainAccessResponse }): ReactNode {
  const { allowed, step, reason, caller, found, requirement } = answer
  return (
    <div className="answer" role="status">
      <p className={`verified ${allowed ? "verified-whole" : "verified-broken"}`}>
        <span className="strong">{allowed ? t.why.allowed : t.why.denied}</span> {caller}
      </p>
      <Steps
        step={step}
        passed={factsOfExplanation(answer)}
        reason={enumName(Reason, reason)}
        facts={[...found, ...decisiveFacts(requirement)]}
      />
      {requirement && (
        <>
          <h3>{t.why.parts}</h3>
          <ul className="checks">
            <Check check={requirement} />
          </ul>
        </>
      )}
    </div>
  )
}

/** The facts of the check that decided. */
function decisiveFacts(check: ExplainedCheck | undefined): readonly string[] {
  if (check === undefined || !check.isDecisive) return []
  const inner = check.of.find((part) => part.isDecisive)
  return inner ? decisiveFacts(inner) : [t.why.itRequires(check.asked), ...check.found]
}

function Check({ check }: { check: ExplainedCheck }): ReactNode {
  return (
    <li className={check.holds ? "check-holds" : "check-fails"}>
      <code>{check.asked}</code>{" "}
      <span className="signet-muted">
        {check.holds ? t.why.holds : t.why.fails(enumName(Reason, check.reason))}
        {check.isDecisive && check.of.length === 0 ? ` · ${t.why.decides}` : ""}
      </span>
      {check.found.map((fact) => (
        <span key={fact} className="line signet-muted">
          {fact}
        </span>
      ))}
      {check.of.length > 0 && (
        <ul>
          {check.of.map((part) => (
            <Check key={part.asked} check={part} />
          ))}
        </ul>
      )}
    </li>
  )
}
