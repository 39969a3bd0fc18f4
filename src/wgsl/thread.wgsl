// What a kernel's run() is told. All fields of Workgroup are uniform, so control flow may depend on them; fields of
// Thread are not. Subgroup fields are 0 where the plan uses no subgroups.
struct Workgroup {
  id: vec3u,
  subgroup_size: u32,
  subgroup_count: u32,
}

struct Thread {
  index: u32,     // in the workgroup
  subgroup: u32,  // number of its subgroup; unique in the workgroup
  lane: u32,      // in the subgroup
}
