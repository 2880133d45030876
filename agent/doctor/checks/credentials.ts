import { existsSync } from "node:fs";
import { join } from "node:path";
import { hintOf, isForbidden, sentenceOf } from "../../base/errors.ts";
import { resolveKubeconfig } from "../../client/credentials/credential-resolution.ts";
import type { Access } from "../../client/credentials/credentials.ts";
import type { Config } from "../../config/settings.ts";
import { type CheckResult, fail, gravest, ok, skip } from "../check-result.ts";
import { credentialFile } from "../credential-places.ts";
import { configOf, type Patient } from "../patient.ts";
import { checkLifetime, keyProblem, modeProblem, pemFile } from "./certificate-facts.ts";

/** Checks the credentials for the API server and the broker: present, readable, matching and valid. */
export async function credsFiles(patient: Patient): Promise<CheckResult> {
  const config = configOf(patient);
  if (!config) return skip("the configuration cannot be read");
  if (existsSync(join(patient.etc, "credentials/.enrolment")))
    return fail("an enrolment was interrupted; its files are complete", "Run siteward enroll, which completes it.");
  return gravest([...(await checkKubeCredentials(patient, config)), ...checkBrokerCredentials(patient, config)]);
}

async function checkKubeCredentials(patient: Patient, config: Config): Promise<readonly CheckResult[]> {
  const meant = resolveKubeconfig(config.api.kubeconfig, "person", patient);
  const file = meant && "file" in meant ? meant.file : undefined;
  let access: Access | undefined;
  try {
    access = await patient.api?.access();
  } catch (error) {
    return [isForbidden(error) ? skip(sentenceOf(error)) : fail(sentenceOf(error), hintOf(error))];
  }
  const found: CheckResult[] = [];
  const mode = file === undefined ? undefined : modeProblem(file);
  if (mode) found.push(mode);
  const certificate = access?.tls.certificate;
  if (certificate) found.push(checkLifetime("the client certificate of the kubeconfig", certificate, now(patient)));
  const authority = access?.tls.ca;
  if (authority) found.push(...expiring("the certificate authority of the kubeconfig", authority, patient));
  return found.length > 0 ? found : [ok(file === undefined ? "the pod's service account" : `${file} is valid`)];
}

/** The problems of an authority's certificate. A valid one is not reported. */
const expiring = (what: string, pem: string, patient: Patient): readonly CheckResult[] =>
  [checkLifetime(what, pem, now(patient))].filter(({ level }) => level !== "ok");

function checkBrokerCredentials(patient: Patient, { mqtt }: Config): readonly CheckResult[] {
  if (mqtt.url === undefined || mqtt.url.startsWith("mqtt:")) return [];
  const places = {
    certificate: credentialFile(mqtt.certificate, "mqtt.crt", patient),
    key: credentialFile(mqtt.key, "mqtt.key", patient),
  };
  const certificate = pemFile("the MQTT client certificate", places.certificate, "--certificate");
  const key = pemFile("the MQTT client key", places.key, "--key");
  if ("verdict" in certificate) return [certificate.verdict];
  if ("verdict" in key) return [key.verdict];
  const found = [
    checkLifetime("the MQTT client certificate", certificate.pem, now(patient)),
    keyProblem("the MQTT client key", certificate.pem, key.pem),
    modeProblem(places.key),
  ];
  return found.filter((verdict) => verdict !== undefined);
}

const now = ({ ambient }: Patient) => ambient.clock.now();
