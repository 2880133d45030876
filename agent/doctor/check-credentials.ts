import { existsSync } from "node:fs";
import { join } from "node:path";
import { hintOf, isForbidden, sentenceOf } from "../base/errors.ts";
import type { Access } from "../client/credentials.ts";
import { meantKubeconfig } from "../client/meant-credentials.ts";
import type { Config } from "../config/settings.ts";
import { keyProblem, lifeVerdict, modeProblem, pemFile } from "./certificate-facts.ts";
import { credentialFile } from "./credential-places.ts";
import { configOf, type Patient } from "./patient.ts";
import { fail, gravest, ok, skip, type Verdict } from "./verdict.ts";

/** Checks the credentials for API server and broker: present, readable, matching and valid. */
export async function credsFiles(patient: Patient): Promise<Verdict> {
  const config = configOf(patient);
  if (!config) return skip("the configuration cannot be read");
  if (existsSync(join(patient.etc, "credentials/.enrolment")))
    return fail("an enrolment was cut short, with everything on disk", "siteward enroll finishes it");
  return gravest([...(await kubeVerdicts(patient, config)), ...brokerVerdicts(patient, config)]);
}

async function kubeVerdicts(patient: Patient, config: Config): Promise<readonly Verdict[]> {
  const meant = meantKubeconfig(config.api.kubeconfig, "person", patient);
  const file = meant && "file" in meant ? meant.file : undefined;
  let access: Access | undefined;
  try {
    access = await patient.api?.access();
  } catch (error) {
    return [isForbidden(error) ? skip(sentenceOf(error)) : fail(sentenceOf(error), hintOf(error))];
  }
  const found: Verdict[] = [];
  const mode = file === undefined ? undefined : modeProblem(file);
  if (mode) found.push(mode);
  const certificate = access?.tls.certificate;
  if (certificate) found.push(lifeVerdict("the client certificate of the kubeconfig", certificate, now(patient)));
  const authority = access?.tls.ca;
  if (authority) found.push(...expiring("the certificate authority of the kubeconfig", authority, patient));
  return found.length > 0 ? found : [ok(file === undefined ? "the pod's service account" : `${file} is good`)];
}

/** For an authority only problems are reported; it usually lasts for years. */
const expiring = (what: string, pem: string, patient: Patient): readonly Verdict[] =>
  [lifeVerdict(what, pem, now(patient))].filter(({ level }) => level !== "ok");

function brokerVerdicts(patient: Patient, { mqtt }: Config): readonly Verdict[] {
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
    lifeVerdict("the MQTT client certificate", certificate.pem, now(patient)),
    keyProblem("the MQTT client key", certificate.pem, key.pem),
    modeProblem(places.key),
  ];
  return found.filter((verdict) => verdict !== undefined);
}

const now = ({ ambient }: Patient) => ambient.clock.now();
