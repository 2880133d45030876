import { itemsAt, type JsonValue, textAt } from "../../../agent/api/json.ts";
import { formProblems } from "../objects/names.ts";
import { invalidValue, type Problem, required, unsupportedValue } from "../requests/problems.ts";
import { tolerationProblems } from "./tolerations.ts";
import { duplicateValue, valueNotFound } from "./value-problems.ts";

const restartPolicies = ["Always", "OnFailure", "Never"];
const pullPolicies = ["Always", "IfNotPresent", "Never"];

export function podSpecProblems(spec: JsonValue | undefined, field: string): readonly Problem[] {
  const [policy, node] = [textAt(spec, "restartPolicy"), textAt(spec, "nodeName")];
  return [
    ...volumeProblems(spec, field),
    ...containerProblems(spec, field),
    ...tolerationProblems(spec, field),
    ...(restartPolicies.includes(policy) ? [] : [unsupportedValue(`${field}.restartPolicy`, policy, restartPolicies)]),
    ...(node === "" ? [] : formProblems(`${field}.nodeName`, node, "subdomain")),
  ];
}

/** Problems of a name to which other parts of the pod refer, and which must therefore differ from all earlier names. */
function nameProblems(field: string, name: string, earlier: readonly JsonValue[]): readonly Problem[] {
  if (name === "") return [required(field)];
  const twice = earlier.some((other) => textAt(other, "name") === name);
  return [...formProblems(field, name, "label"), ...(twice ? [duplicateValue(field, name)] : [])];
}

const volumeProblems = (spec: JsonValue | undefined, field: string): readonly Problem[] => {
  const volumes = itemsAt(spec, "volumes");
  return volumes.flatMap((volume, i) =>
    nameProblems(`${field}.volumes[${i}].name`, textAt(volume, "name"), volumes.slice(0, i)),
  );
};

function containerProblems(spec: JsonValue | undefined, field: string): readonly Problem[] {
  const [containers, first] = [itemsAt(spec, "containers"), itemsAt(spec, "initContainers")];
  const volumes = itemsAt(spec, "volumes").map((volume) => textAt(volume, "name"));
  const problemsOf = (container: JsonValue, at: string, earlier: readonly JsonValue[]): readonly Problem[] => {
    const policy = textAt(container, "imagePullPolicy");
    return [
      ...nameProblems(`${at}.name`, textAt(container, "name"), earlier),
      ...(textAt(container, "image") === "" ? [required(`${at}.image`)] : []),
      ...mountProblems(itemsAt(container, "volumeMounts"), volumes, at),
      ...(pullPolicies.includes(policy) ? [] : [unsupportedValue(`${at}.imagePullPolicy`, policy, pullPolicies)]),
    ];
  };
  return [
    ...(containers.length === 0 ? [required(`${field}.containers`)] : []),
    ...containers.flatMap((one, i) => problemsOf(one, `${field}.containers[${i}]`, containers.slice(0, i))),
    ...first.flatMap((one, i) =>
      problemsOf(one, `${field}.initContainers[${i}]`, [...containers, ...first.slice(0, i)]),
    ),
  ];
}

const mountProblems = (mounts: readonly JsonValue[], volumes: readonly string[], at: string): readonly Problem[] =>
  mounts.flatMap((mount, i) => {
    const [name, path] = [textAt(mount, "name"), textAt(mount, "mountPath")];
    const field = `${at}.volumeMounts[${i}]`;
    const twice = mounts.slice(0, i).some((other) => textAt(other, "mountPath") === path);
    return [
      ...(name === "" ? [required(`${field}.name`)] : []),
      ...(volumes.includes(name) ? [] : [valueNotFound(`${field}.name`, name)]),
      ...(path === "" ? [required(`${field}.mountPath`)] : []),
      ...(twice ? [invalidValue(`${field}.mountPath`, path, "must be unique")] : []),
    ];
  });
