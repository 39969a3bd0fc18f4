// SPDX-License-Identifier: Apache-2.0
// What tests of the ladders ask in Node and in a browser alike. Nothing is imported: a page runs it as it is.

export const FAMILIES = ["reduce", "scan", "histogram", "sort", "spmv"];

/** All supported steps of a family at a size: what is wrong with their results, in words. */
export async function mistakesOf(ladders, family, items) {
  const mistakes = [];
  const wanted = ladders.steps(family).filter((step) => step.supported);
  const seen = [];
  const progress = [];
  let copyRate = 0;
  await ladders.run(family, {
    items,
    onCopy: (rate) => {
      copyRate = rate;
    },
    onResult: (result) => {
      seen.push(result.stepId);
      const { valid, microseconds, spread, rate, message } = result;
      const isTimed = [microseconds, rate].every((number) => Number.isFinite(number) && number > 0) && spread >= 0;
      if (!valid || !isTimed || message !== undefined) mistakes.push(`${family} ${items}: ${JSON.stringify(result)}`);
      const isOnDevice = !result.stepId.startsWith("cpu");
      if (isOnDevice !== result.bytesPerItem > 0) mistakes.push(`${family} ${result.stepId}: bytes of an item`);
      if (!(result.percentOfCopy > 0)) mistakes.push(`${family} ${result.stepId}: percent of copy`);
    },
    onProgress: (done, of, step) => progress.push([done, of, step]),
  });
  if (!(copyRate > 0)) mistakes.push(`${family}: copy rate ${copyRate}`);
  const ids = wanted.map((step) => step.id);
  if (String(seen) !== String(ids)) mistakes.push(`${family}: ${seen} instead of ${ids}`);
  const count = ids.length;
  const steps = [[0, count, "copy"], ...ids.map((id, done) => [done, count, id]), [count, count, ""]];
  if (JSON.stringify(progress) !== JSON.stringify(steps)) mistakes.push(`${family}: ${JSON.stringify(progress)}`);
  return mistakes;
}

/** The steps that are not to be had here. */
export function unsupportedSteps(ladders) {
  return FAMILIES.flatMap((family) =>
    ladders
      .steps(family)
      .filter((step) => !step.supported)
      .map((step) => `${family}.${step.id}: ${step.reason}`),
  );
}
