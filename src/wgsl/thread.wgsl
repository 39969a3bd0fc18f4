// What a kernel's run() is told of its thread. Subgroup fields are 0 where the plan uses no subgroups.
struct Thread {
  index: u32,           // in the workgroup
  subgroup: u32,        // number of its subgroup; unique in the workgroup
  lane: u32,            // in the subgroup
  subgroup_size: u32,
  subgroup_count: u32,
}
